import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../../kernel/sql.ts';

const DeliveryRow = Type.Object({
  id: Type.Integer(),
  endpoint_id: Type.String(),
  event_type: Type.String(),
  message_id: Type.Union([Type.String(), Type.Null()]),
  state: Type.Enum(['pending', 'delivering', 'delivered', 'failed'] as const),
  attempts: Type.Integer(),
  last_status: Type.Union([Type.Integer(), Type.Null()]),
  last_error: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.String(),
  done_at: Type.Union([Type.String(), Type.Null()]),
});
export type DeliveryRow = Static<typeof DeliveryRow>;

export interface DeliveryFilters {
  messageId?: string;
  endpointId?: string;
}

export const listDeliveryRows = (
  tx: Tx,
  org: string,
  { messageId, endpointId }: DeliveryFilters,
  { before, limit }: { before: number | null; limit: number },
): Promise<DeliveryRow[]> => rows(tx, DeliveryRow)`
  select id, endpoint_id, event_type, message_id, state, attempts, last_status, last_error, created_at, done_at
    from email.delivery
   where org_id = ${org} and created_at > kernel.now() - interval '30 days'
     and ${messageId === undefined ? sql`true` : sql`message_id = ${messageId}`}
     and ${endpointId === undefined ? sql`true` : sql`endpoint_id = ${endpointId}`}
     and ${before === null ? sql`true` : sql`id < ${before}`}
   order by id desc limit ${limit}`;

export const hasDelivery = async (tx: Tx, org: string, id: number): Promise<boolean> =>
  (await row(tx, Type.Object({ known: Type.Boolean() }))`
    select exists (select from email.delivery where org_id = ${org} and id = ${id} and created_at > kernel.now() - interval '30 days') as known`)!
    .known;

const DeliveryDetailRow = Type.Object({
  ...DeliveryRow.properties,
  event_id: Type.String(),
  /** Null: past its time. */
  payload: Type.Union([Type.String(), Type.Null()]),
  /** Of the message that it tells of. */
  domain_id: Type.Union([Type.String(), Type.Null()]),
});
export type DeliveryDetailRow = Static<typeof DeliveryDetailRow>;

export const findDelivery = (tx: Tx, org: string, id: number): Promise<DeliveryDetailRow | undefined> => row(tx, DeliveryDetailRow)`
  select d.id, d.endpoint_id, d.event_type, d.message_id, d.state, d.attempts, d.last_status, d.last_error, d.created_at, d.done_at, d.event_id,
         e.payload, m.domain_id
    from email.delivery d
    left join email.webhook_event e on e.id = d.event_id
    left join email.message m on m.org_id = d.org_id and m.id = d.message_id
   where d.org_id = ${org} and d.id = ${id} and d.created_at > kernel.now() - interval '30 days'`;

const StartedAttemptRow = Type.Object({
  id: Type.Integer(),
  org_id: Type.String(),
  run: Type.String(),
  attempts: Type.Integer(),
  event_id: Type.String(),
  event_type: Type.String(),
  endpoint_id: Type.String(),
  /** Epoch seconds, for the signature. */
  now: Type.Integer(),
  url: Type.Union([Type.String(), Type.Null()]),
  secret: Type.Union([Type.Unsafe<Buffer>({}), Type.Null()]),
  payload: Type.Union([Type.String(), Type.Null()]),
  /** Why the delivery failed without an attempt; null: it starts. */
  why_not: Type.Union([Type.String(), Type.Null()]),
});
export type StartedAttemptRow = Static<typeof StartedAttemptRow>;

/**
 * Filters by id only. With `done_at is null` as well, the planner may choose the index of waiting deliveries while the table is small, and keep that
 * plan when 100,000 wait.
 */
const lockDeliveries = (ids: readonly number[]): Sql => sql`
  select d.id, d.org_id, d.endpoint_id, d.event_id, d.event_type, d.state, d.attempts, d.run, d.done_at
    from email.delivery d where d.id = any(${ids}::bigint[]) order by d.id for update`;

/** The outcome of such a delivery is the outcome of the received message. */
export const receivedEventType = 'email.received';

/**
 * Starts attempts and returns what they need; finished deliveries are left out. A delivery whose endpoint is disabled or deleted is returned with the
 * reason and not started. One in state `delivering` was left by a dead process: its attempt is repeated without counting another.
 */
export const beginDeliveries = (tx: Tx, asked: readonly { id: number; run: string }[]): Promise<StartedAttemptRow[]> => rows(
  tx,
  StartedAttemptRow,
)`
  with clock as materialized (select kernel.now() as now),
       locked as materialized (${lockDeliveries(asked.map((a) => a.id))}),
       found as materialized (
         select d.id, d.org_id, a.run, d.event_id, d.event_type, d.endpoint_id, w.url, w.secret, e.payload, d.attempts + case when d.state = 'pending' then 1 else 0 end as attempts,
                case when w.id is null then 'the endpoint was deleted'
                     when w.disabled_at is not null then 'the endpoint is disabled: ' || coalesce(w.disabled_reason, 'by hand')
                     when e.id is null then 'what it was to tell is past its time' end as why_not
           from unnest(${asked.map((a) => a.id)}::bigint[], ${asked.map((a) => a.run)}::uuid[]) as a(id, run)
           join locked d on d.id = a.id and d.done_at is null
           left join email.webhook w on w.id = d.endpoint_id
           left join email.webhook_event e on e.id = d.event_id),
       begun as (
         update email.delivery d
            set state = 'delivering', run = f.run, attempts = f.attempts
           from found f where d.id = f.id and f.why_not is null)
  select f.*, extract(epoch from clock.now)::int as now from found f, clock`;

/** Fails deliveries that cannot be attempted. */
export const failDeliveries = (tx: Tx, over: readonly { id: number; why: string }[]): Promise<number> => run(tx)`
  with locked as materialized (${lockDeliveries(over.map(({ id }) => id))})
  update email.delivery d set state = 'failed', run = null, last_error = o.why, done_at = c.now
    from locked l, unnest(${over.map(({ id }) => id)}::bigint[], ${over.map(({ why }) => why)}::text[]) as o(id, why),
         (select kernel.now() as now offset 0) c
   where d.id = l.id and o.id = l.id and l.done_at is null`;

/** The result of one attempt. */
export interface AttemptResult {
  id: number;
  run: string;
  status: number | null;
  /** Null: delivered. */
  error: string | null;
  /** No further attempt follows. */
  is_last: boolean;
}

const SettledRow = Type.Object({
  id: Type.Integer(),
  org_id: Type.String(),
  endpoint_id: Type.String(),
  event_type: Type.String(),
  state: Type.Enum(['pending', 'delivered', 'failed'] as const),
  /** Days since the endpoint started to fail; null: it works. */
  failing_days: Type.Union([Type.Number(), Type.Null()]),
});
export type SettledDelivery = Static<typeof SettledRow>;

/** Records the results of attempts that are still current. */
export const settleDeliveries = (tx: Tx, heard: readonly AttemptResult[]) => settle(tx, heard, sql`true`);

/** Records only successes without further effects on a message or an endpoint. */
export const settleSimpleSuccesses = (tx: Tx, heard: readonly AttemptResult[]) =>
  settle(tx, heard, sql`t.error is null and d.event_type <> ${receivedEventType} and w.failing_since is null`);

const settle = (tx: Tx, heard: readonly AttemptResult[], which: Sql): Promise<SettledDelivery[]> => rows(tx, SettledRow)`
  with clock as materialized (select kernel.now() as now),
       locked as materialized (${lockDeliveries(heard.map((h) => h.id))}),
       mine as materialized (
         select d.id, d.org_id, d.endpoint_id, d.event_type, t.status, t.error,
                extract(epoch from clock.now - w.failing_since)::float8 / 86400 as failing_days,
                case when t.error is null then 'delivered'
                     when t.is_last or w.id is null or w.disabled_at is not null then 'failed' else 'pending' end as state
           from json_to_recordset(${JSON.stringify(heard)}::json) as t(id bigint, run uuid, status int, error text, is_last boolean)
           join locked d on d.id = t.id and d.run = t.run and d.done_at is null
           left join email.webhook w on w.id = d.endpoint_id
          cross join clock
          where ${which}),
       settled as (
         update email.delivery d
            set state = m.state, run = null, last_status = coalesce(m.status, d.last_status), last_error = m.error,
                done_at = case when m.state <> 'pending' then clock.now end
           from mine m, clock where d.id = m.id)
  select id, org_id, endpoint_id, event_type, state, failing_days from mine`;

/** Id of the endpoint's newest delivery. */
export const lastDelivery = async (tx: Tx, org: string, endpointId: string): Promise<number> =>
  (await row(tx, Type.Object({ id: Type.Integer() }))`
    select coalesce(max(id), 0) as id from email.delivery where org_id = ${org} and endpoint_id = ${endpointId}`)!.id;

const IdRow = Type.Object({ id: Type.Integer() });

/** Fails a batch of pending deliveries of an endpoint and returns their ids. An attempt in flight ends by itself. */
export const failWaiting = async (tx: Tx, org: string, endpointId: string, upTo: number, why: string, limit: number): Promise<number[]> =>
  (
    await rows(tx, IdRow)`
  update email.delivery d set state = 'failed', last_error = ${why}, done_at = c.now
    from (select id from email.delivery
           where org_id = ${org} and endpoint_id = ${endpointId} and done_at is null and state = 'pending' and id <= ${upTo}
           order by id limit ${limit} for update skip locked) w,
         (select kernel.now() as now offset 0) c
   where d.id = w.id returning d.id`
  ).map(({ id }) => id);

/** Whether an attempt up to this id is still in flight. */
export const hasWaiting = async (tx: Tx, org: string, endpointId: string, upTo: number): Promise<boolean> =>
  (await row(tx, Type.Object({ waits: Type.Boolean() }))`
    select exists (select from email.delivery where org_id = ${org} and endpoint_id = ${endpointId} and done_at is null and id <= ${upTo}) as waits`)!
    .waits;

const CountRow = Type.Object({ state: Type.String(), deliveries: Type.Integer() });

/** Unfinished deliveries by state. */
export const countWaitingDeliveries = (tx: Tx) => rows(tx, CountRow)`
  select state, count(*)::int as deliveries from email.delivery where done_at is null group by state`;

/** Sets the state of received messages from their finished deliveries. */
export const settleReceived = (tx: Tx, deliveries: readonly number[]): Promise<number> => run(tx)`
  update email.message m
     set state = d.state, state_at = kernel.now(), last_error = case when d.state = 'failed' then d.last_error else m.last_error end
    from email.delivery d
   where d.id = any(${deliveries}::bigint[]) and d.event_type = 'email.received' and d.done_at is not null
     and m.id = d.message_id and m.direction = 'receive' and m.endpoint_id = d.endpoint_id
     and (m.state = 'received' or m.state = 'failed' and d.state = 'delivered')`;
