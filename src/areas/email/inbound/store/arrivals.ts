import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { claimFairly, type Leased, orgsAfter, type Queue, renew } from '../../../../kernel/jobs/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import type { LocalClaim } from '../../outbound/store/queue.ts';
import type { Envelope } from '../rules/receiving.ts';

// The queue of received mail: claimed under leases with organizations in turn, and deleted when the event is written.

const queue: Queue = { table: sql`email.arrival`, idType: sql`bigint` };

/** Organizations with waiting arrivals, after `after`. */
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

export const claimArrivals = (tx: Tx, wanted: LocalClaim): Promise<ArrivalRow[]> =>
  claimFairly(tx, ArrivalRow, queue, {
    ...wanted,
    which: sql`(q.node is null or q.node = ${wanted.node}) and q.id <> all(${wanted.held}::bigint[])`,
    org: sql`q.org_id`,
    seen: new Map(),
    returning: sql`q.id, q.org_id, q.message_id, q.route_id, q.endpoint_id, q.recipient_id, q.envelope, q.body_key, q.body_offset, q.body_bytes,
                   q.received_at, q.attempts`,
  });

export const renewArrivals = (tx: Tx, leased: readonly (Leased & { leaseSeconds: number })[]) => renew(tx, queue, leased);

/** Releases leases for a later attempt by any process. For a day this counts as no attempt: the message was not read, so it terminated no thread. */
export const releaseArrivals = (tx: Tx, leased: readonly Leased[], inSeconds: number) => run(tx)`
  update email.arrival a
     set lease = null, lease_until = null, run_at = kernel.now() + make_interval(secs => ${inSeconds}),
         attempts = a.attempts - case when a.received_at > kernel.now() - interval '1 day' then 1 else 0 end
    from unnest(${leased.map((l) => l.id)}::bigint[], ${leased.map((l) => l.lease)}::uuid[]) as l(id, lease)
   where a.id = l.id and a.lease = l.lease`;

/** A read arrival with the header fields of its message; a report has none. */
export type ReadRow = { arrival: number; lease: string; route: string | null } & Partial<{
  id: string;
  sender: string;
  recipients: readonly string[];
  copies: readonly string[];
  subject: string | null;
  message_id: string;
  /** Why it could not be read completely. */
  error: string | null;
}>;

const DeletedArrivalRow = Type.Object({ id: Type.Integer(), is_routed: Type.Boolean() });

/**
 * Deletes arrivals whose lease is still valid and writes their header fields to the log; the caller writes their events in the same transaction.
 * Mail of a deleted route fails, since no endpoint gets it. Existing routes are locked until the transaction ends, so that their endpoint cannot be
 * deleted before the event is written.
 */
export const deleteReadArrivals = (
  tx: Tx,
  read: readonly ReadRow[],
  routeGone: string,
): Promise<Static<typeof DeletedArrivalRow>[]> => rows(tx, DeletedArrivalRow)`
  with read as materialized (
         select * from json_to_recordset(${JSON.stringify(read)}::json) as r(
                arrival bigint, lease uuid, route text, id text, sender text, recipients text[], copies text[], subject text, message_id text, error text)),
       gone as (delete from email.arrival a using read r where a.id = r.arrival and a.lease = r.lease returning a.id),
       kept as materialized (select id from email.route where id = any(array(select route from read)) order by id for key share),
       ours as materialized (select r.*, k.id is not null as is_routed from gone g join read r on r.arrival = g.id left join kept k on k.id = r.route),
       described as (
         update email.message m
            set sender = o.sender, recipients = o.recipients, copies = o.copies, subject = o.subject, message_id = o.message_id,
                last_error = case when o.is_routed then o.error else ${routeGone} end,
                state = case when o.is_routed then m.state else 'failed' end, state_at = case when o.is_routed then m.state_at else kernel.now() end
           from ours o where o.route is not null and m.id = o.id and m.direction = 'receive')
  select arrival as id, is_routed from ours`;

/** For this transaction. A plan from a small table would scan it, until PostgreSQL updates its statistics. */
export const disableSeqScan = (tx: Tx) => run(tx)`set local enable_seqscan = off`;

const CountRow = Type.Object({ kind: Type.String(), arrivals: Type.Integer() });

/** Arrivals that wait to be read, by kind. */
export const countWaitingArrivals = (tx: Tx) => rows(tx, CountRow)`
  select case when route_id is null then 'report' else 'mail' end as kind, count(*)::int as arrivals from email.arrival group by 1`;
