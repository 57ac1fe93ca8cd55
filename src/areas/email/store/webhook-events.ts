import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { makeIds } from '../../../kernel/time.ts';

// Events are frozen here, in the transaction of what they tell, with a delivery for each endpoint that wants to hear them.

const SubscribedRow = Type.Object({ now: Type.String(), org_id: Type.String(), event_types: Type.Array(Type.String()) });

/** What the endpoints of these organizations want to hear. Most have none: this one statement is all that they cost. */
export const findSubscribed = (tx: Tx, orgs: readonly string[]): Promise<Static<typeof SubscribedRow>[]> => rows(tx, SubscribedRow)`
  select kernel.now() as now, org_id, event_types from email.webhook where org_id = any(${orgs}::text[]) and disabled_at is null`;

const ToldMessageRow = Type.Object({
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
export type ToldMessageRow = Static<typeof ToldMessageRow>;

/** What an event says of the message that it is about. */
export const findToldMessages = (tx: Tx, ids: readonly string[]): Promise<ToldMessageRow[]> => rows(tx, ToldMessageRow)`
  select id, state, domain_id, direction, sender, recipients, copies, subject, tags from email.message where id = any(${ids}::text[])`;

export interface NewEvent {
  org_id: string;
  type: string;
  message_id: string | null;
  payload: string;
  /** Told whatever it subscribes to. */
  endpoint_id: string | null;
}

const DeliveryIdRow = Type.Object({ id: Type.Integer(), org_id: Type.String(), endpoint_id: Type.String() });
export type DeliveryIdRow = Static<typeof DeliveryIdRow>;

/**
 * In the order in which they are given. Returns the deliveries. Payloads are bytes one behind the other: as JSON, or as a list, PostgreSQL would look at
 * each of their characters, which takes it as long as all the rest.
 */
export const insertEvents = (tx: Tx, at: string, events: readonly NewEvent[]): Promise<DeliveryIdRow[]> => {
  const ids = makeIds('evt', at, events.length);
  const payloads = events.map(({ payload }) => Buffer.from(payload));
  let offset = 1;
  const told = events.map(({ payload: _, ...event }, n) => {
    const bytes = payloads[n]!.length;
    offset += bytes;
    return { ...event, id: ids[n], offset: offset - bytes, bytes };
  });
  return rows(tx, DeliveryIdRow)`
    with told as materialized (
           select t.* from rows from (json_to_recordset(${JSON.stringify(told)}::json) as (
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

/** The same event once more, for the endpoint that it was for. None: one of them is gone. */
export const insertRedelivery = (tx: Tx, org: string, id: number): Promise<DeliveryIdRow[]> => rows(tx, DeliveryIdRow)`
  insert into email.delivery (org_id, endpoint_id, event_id, event_type, message_id, state, created_at)
  select d.org_id, w.id, e.id, e.type, e.message_id, 'pending', kernel.now()
    from email.delivery d
    join email.webhook w on w.org_id = d.org_id and w.id = d.endpoint_id
    join email.webhook_event e on e.id = d.event_id and e.created_at > kernel.now() - interval '30 days'
   where d.org_id = ${org} and d.id = ${id}
  returning id, org_id, endpoint_id`;

/** Deliveries past their 30 days. Ids are in the order of time, so only the first ones are looked at. Returns how many went. */
export const deleteOldDeliveries = (tx: Tx, limit: number): Promise<number> => run(tx)`
  delete from email.delivery d
   using (select id, created_at from email.delivery order by id limit ${limit}) old
   where d.id = old.id and old.created_at < kernel.now() - interval '30 days'`;

/** Kept ten days longer than they can be delivered again: what was asked for last is not delivered yet. */
export const deleteOldEvents = (tx: Tx, limit: number): Promise<number> => run(tx)`
  delete from email.webhook_event e
   using (select id, created_at from email.webhook_event order by id limit ${limit}) old
   where e.id = old.id and old.created_at < kernel.now() - interval '40 days'`;
