import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { claimFairly, type Leased, orgsAfter, type Queue, renew } from '../../../kernel/jobs/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { Envelope } from '../rules/receiving.ts';
import type { WantedHere } from './wanted.ts';

// What has arrived: written in batches, taken by organizations in turn under leases, and gone once it was told.

const UsageRow = Type.Object({ org_id: Type.String(), stored: Type.Integer() });

/** Bytes that these organizations have stored: what arrived in the last 30 days. Today's row is locked until the end of the transaction. */
export const lockReceived = (tx: Tx, orgs: readonly string[]) => rows(tx, UsageRow)`
  with today as materialized (select (kernel.now() at time zone 'UTC')::date as day),
       locked as (
         insert into email.received_usage as u (org_id, day, messages, bytes)
         select org, t.day, 0, 0 from unnest(${[...orgs].sort()}::text[]) org, today t
             on conflict (org_id, day) do update set bytes = u.bytes
         returning org_id, bytes)
  select l.org_id, (l.bytes + coalesce((select sum(u.bytes) from email.received_usage u, today t
                                         where u.org_id = l.org_id and u.day < t.day and u.day >= t.day - 30), 0))::bigint as stored
    from locked l`;

export const countReceived = (tx: Tx, at: string, counted: readonly { org: string; messages: number; bytes: number }[]) => run(tx)`
  update email.received_usage u set messages = u.messages + c.messages, bytes = u.bytes + c.bytes
    from unnest(${counted.map((c) => c.org)}::text[], ${counted.map((c) => c.messages)}::bigint[], ${counted.map((c) => c.bytes)}::bigint[]) as c(org, messages, bytes)
   where u.org_id = c.org and u.day = (${at}::timestamptz at time zone 'UTC')::date`;

export interface NewReceived {
  org_id: string;
  id: string;
  domain_id: string;
  endpoint_id: string;
  sender: string;
  recipients: readonly string[];
  body_key: string;
  body_offset: number;
  body_bytes: number;
}

/** In the log at once, as the envelope has them; what their headers say follows when they are read. */
export const insertReceived = (tx: Tx, at: string, messages: readonly NewReceived[]): Promise<number> => run(tx)`
  insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, endpoint_id, sender, recipients, copies, message_id,
                             body_key, body_offset, body_bytes, header_bytes, body_hash)
  select org_id, id, 'receive', 'received', ${at}::timestamptz, ${at}::timestamptz, 'mx', domain_id, endpoint_id, sender, recipients, '{}', '',
         body_key, body_offset, body_bytes, 0, ''
    from json_to_recordset(${JSON.stringify(messages)}::json) as m(
         org_id text, id text, domain_id text, endpoint_id text, sender text, recipients text[], body_key text, body_offset bigint, body_bytes bigint)`;

export const insertAddresses = (
  tx: Tx,
  addresses: readonly { org_id: string; folded: string; message_id: string }[],
): Promise<number> => run(tx)`
  insert into email.received_address (org_id, folded, message_id)
  select a.org, a.folded, a.id
    from unnest(${addresses.map((a) => a.org_id)}::text[], ${addresses.map((a) => a.folded)}::text[], ${addresses.map((a) => a.message_id)}::text[]) as a(org, folded, id)
      on conflict do nothing`;

export interface NewArrival {
  org_id: string;
  message_id: string;
  route_id: string | null;
  endpoint_id: string | null;
  recipient_id: number | null;
  envelope: Envelope;
  body_key: string;
  body_offset: number;
  body_bytes: number;
  node: string | null;
}

export const insertArrivals = (tx: Tx, at: string, arrivals: readonly NewArrival[]): Promise<number> => run(tx)`
  insert into email.arrival (org_id, message_id, route_id, endpoint_id, recipient_id, envelope, body_key, body_offset, body_bytes, node, received_at, run_at)
  select org_id, message_id, route_id, endpoint_id, recipient_id, envelope, body_key, body_offset, body_bytes, node, ${at}::timestamptz, ${at}::timestamptz
    from json_to_recordset(${JSON.stringify(arrivals)}::json) as a(
         org_id text, message_id text, route_id text, endpoint_id text, recipient_id bigint, envelope jsonb, body_key text, body_offset bigint,
         body_bytes bigint, node text)`;

const queue: Queue = { table: sql`email.arrival`, idType: sql`bigint` };

/** Organizations for which something has arrived, from the one after `after` on. */
export const findOrgs = (tx: Tx, after: string): Promise<string[]> => orgsAfter(tx, queue, { which: sql`true`, org: sql`q.org_id`, after });

const ArrivalRow = Type.Object({
  id: Type.Integer(),
  org_id: Type.String(),
  message_id: Type.String(),
  route_id: Type.Union([Type.String(), Type.Null()]),
  endpoint_id: Type.Union([Type.String(), Type.Null()]),
  recipient_id: Type.Union([Type.Integer(), Type.Null()]),
  envelope: Type.Unsafe<Envelope>({}),
  body_key: Type.String(),
  body_offset: Type.Integer(),
  body_bytes: Type.Integer(),
  received_at: Type.String(),
  attempts: Type.Integer(),
  lease: Type.String(),
  late_ms: Type.Number(),
  place: Type.Integer(),
});
export type ArrivalRow = Static<typeof ArrivalRow>;

export const claimArrivals = (tx: Tx, wanted: WantedHere): Promise<ArrivalRow[]> =>
  claimFairly(tx, ArrivalRow, queue, {
    ...wanted,
    which: sql`(q.node is null or q.node = ${wanted.node}) and q.id <> all(${wanted.held}::bigint[])`,
    org: sql`q.org_id`,
    seen: new Map(),
    returning: sql`q.id, q.org_id, q.message_id, q.route_id, q.endpoint_id, q.recipient_id, q.envelope, q.body_key, q.body_offset, q.body_bytes,
                   q.received_at, q.attempts`,
  });

export const renewArrivals = (tx: Tx, leased: readonly (Leased & { leaseSeconds: number })[]) => renew(tx, queue, leased);

const IdRow = Type.Object({ id: Type.Integer() });

/** Those that are still ours: they are gone from here on, and whoever asks tells of them in this transaction. */
export const takeOut = async (tx: Tx, leased: readonly Leased[]): Promise<Set<number>> =>
  new Set(
    (
      await rows(tx, IdRow)`
        delete from email.arrival a
         using unnest(${leased.map((l) => l.id)}::bigint[], ${leased.map((l) => l.lease)}::uuid[]) as l(id, lease)
         where a.id = l.id and a.lease = l.lease returning a.id`
    ).map(({ id }) => id),
  );

/** Later, by whoever can. For a day that counts as no attempt: nobody has read it, so it has ended nobody who did. */
export const putBack = (tx: Tx, { id, lease }: Leased, inSeconds: number) => run(tx)`
  update email.arrival
     set lease = null, lease_until = null, run_at = kernel.now() + make_interval(secs => ${inSeconds}),
         attempts = attempts - case when received_at > kernel.now() - interval '1 day' then 1 else 0 end
   where id = ${id} and lease = ${lease}::uuid`;

/** What is known of a message once it was read. */
export interface ReadRow {
  id: string;
  sender: string;
  recipients: readonly string[];
  copies: readonly string[];
  subject: string | null;
  message_id: string;
  /** Why it could not be read, or not told. */
  error: string | null;
  /** It will never be told. */
  has_failed: boolean;
}

export const describeReceived = (tx: Tx, read: readonly ReadRow[]): Promise<number> => run(tx)`
  update email.message m
     set sender = r.sender, recipients = r.recipients, copies = r.copies, subject = r.subject, message_id = r.message_id, last_error = r.error,
         state = case when r.has_failed then 'failed' else m.state end, state_at = case when r.has_failed then kernel.now() else m.state_at end
    from json_to_recordset(${JSON.stringify(read)}::json) as r(
         id text, sender text, recipients text[], copies text[], subject text, message_id text, error text, has_failed boolean)
   where m.id = r.id and m.direction = 'receive'`;

/** What the endpoints of received messages answered decides what became of them: those deliveries, now that they are done. */
export const settleReceived = (tx: Tx, deliveries: readonly number[]): Promise<number> => run(tx)`
  update email.message m
     set state = d.state, state_at = kernel.now(), last_error = case when d.state = 'failed' then d.last_error else m.last_error end
    from email.delivery d
   where d.id = any(${deliveries}::bigint[]) and d.event_type = 'email.received' and d.done_at is not null
     and m.id = d.message_id and m.direction = 'receive' and m.endpoint_id = d.endpoint_id
     and (m.state = 'received' or m.state = 'failed' and d.state = 'delivered')`;

const CountRow = Type.Object({ kind: Type.String(), arrivals: Type.Integer() });

/** What waits to be read. */
export const arrivalFigures = (tx: Tx) => rows(tx, CountRow)`
  select case when route_id is null then 'report' else 'mail' end as kind, count(*)::int as arrivals from email.arrival group by 1`;
