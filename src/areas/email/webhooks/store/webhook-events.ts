import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../../kernel/db/index.ts';
import { makeIds } from '../../../../kernel/time.ts';

// Events are written in the transaction of their cause, with a delivery for each subscribed endpoint.

const SubscribedRow = Type.Object({ now: Type.String(), org_id: Type.String(), event_types: Type.Array(Type.String()) });

/** Subscriptions of these organizations. Most have no endpoint and cost only this statement. */
export const findSubscribed = (tx: Tx, orgs: readonly string[]): Promise<Static<typeof SubscribedRow>[]> => rows(tx, SubscribedRow)`
  select kernel.now() as now, org_id, event_types from email.webhook where org_id = any(${orgs}::text[]) and disabled_at is null`;

const EventMessageRow = Type.Object({
  id: Type.String(),
  state: Type.String(),
  domain_id: Type.String(),
  direction: Type.String(),
  sender: Type.String(),
  recipients: Type.Array(Type.String()),
  copies: Type.Array(Type.String()),
  subject: Type.Union([Type.String(), Type.Null()]),
  tags: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]),
});
export type EventMessageRow = Static<typeof EventMessageRow>;

/** The message fields of an event. */
export const findEventMessages = (tx: Tx, ids: readonly string[]): Promise<EventMessageRow[]> => rows(tx, EventMessageRow)`
  select id, state, domain_id, direction, sender, recipients, copies, subject, tags from email.message where id = any(${ids}::text[])`;

export interface NewEvent {
  org_id: string;
  type: string;
  message_id: string | null;
  payload: string;
  /** This endpoint gets the event even without a subscription. */
  endpoint_id: string | null;
}

const DeliveryIdRow = Type.Object({ id: Type.Integer(), org_id: Type.String(), endpoint_id: Type.String() });
export type DeliveryIdRow = Static<typeof DeliveryIdRow>;

/**
 * Inserts events in order and returns their deliveries. Payloads travel as one concatenated bytea: as JSON or as an array PostgreSQL would scan every
 * character, which doubles the cost of the statement.
 */
export const insertEvents = (tx: Tx, at: string, events: readonly NewEvent[]): Promise<DeliveryIdRow[]> => {
  const ids = makeIds('evt', at, events.length);
  const payloads = events.map(({ payload }) => Buffer.from(payload));
  let offset = 1;
  const rowsToInsert = events.map(({ payload: _, ...event }, n) => {
    const bytes = payloads[n]!.length;
    offset += bytes;
    return { ...event, id: ids[n], offset: offset - bytes, bytes };
  });
  return rows(tx, DeliveryIdRow)`
    with told as materialized (
           select t.* from rows from (json_to_recordset(${JSON.stringify(rowsToInsert)}::json) as (
                  id text, org_id text, type text, message_id text, endpoint_id text, "offset" int, bytes int)) with ordinality as t(id, org_id, type, message_id, endpoint_id, "offset", bytes, n)),
         frozen as (
           insert into email.webhook_event (org_id, id, type, message_id, payload, created_at)
           select org_id, id, type, message_id, convert_from(substr(${Buffer.concat(payloads)}::bytea, "offset", bytes), 'UTF8'), ${at}::timestamptz from told order by n)
    insert into email.delivery (org_id, endpoint_id, event_id, event_type, message_id, state, created_at)
    select t.org_id, w.id, t.id, t.type, t.message_id, 'pending', ${at}::timestamptz
      from told t join email.webhook w on w.org_id = t.org_id and (w.id = t.endpoint_id or w.disabled_at is null and t.type = any(w.event_types))
     order by t.n, w.id
    returning id, org_id, endpoint_id`;
};

/** A new delivery of the same event to the same endpoint. Empty: one of them is gone. */
export const insertRedelivery = (tx: Tx, org: string, id: number): Promise<DeliveryIdRow[]> => rows(tx, DeliveryIdRow)`
  insert into email.delivery (org_id, endpoint_id, event_id, event_type, message_id, state, created_at)
  select d.org_id, w.id, e.id, e.type, e.message_id, 'pending', kernel.now()
    from email.delivery d
    join email.webhook w on w.org_id = d.org_id and w.id = d.endpoint_id
    join email.webhook_event e on e.id = d.event_id and e.created_at > kernel.now() - interval '30 days'
   where d.org_id = ${org} and d.id = ${id}
  returning id, org_id, endpoint_id`;
