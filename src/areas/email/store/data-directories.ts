import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

// Data directories (table email.holder) with mail that no other machine can read.

/** A server reports its directory every ten seconds; after this silence it is absent. */
const absentAfter = sql`interval '60 seconds'`;

const NowRow = Type.Object({ seen_at: Type.String() });

export const noteDirectory = async (tx: Tx, node: string): Promise<string> =>
  (await row(tx, NowRow)`
    insert into email.holder as h (node, seen_at) values (${node}, kernel.now())
        on conflict (node) do update set seen_at = greatest(h.seen_at, excluded.seen_at), away_seconds = 0 returning seen_at`)!.seen_at;

/** A check adds at most this many seconds, so that clock jumps and hours without any server do not count. */
const maxSecondsBetweenChecks = 120;

/** Adds the time for which directories were observed to be absent. */
export const addAbsentTime = (tx: Tx) => run(tx)`
  update email.holder h
     set watched_at = c.now,
         away_seconds = case when h.seen_at >= c.now - ${absentAfter} then 0
                             else h.away_seconds + least(greatest(extract(epoch from c.now - coalesce(h.watched_at, c.now)), 0), ${maxSecondsBetweenChecks})::int end
    from (select kernel.now() as now offset 0) c`;

/** Counts mail in absent directories. A directory that never reported (a server of an older release) counts as seen now. */
export async function countMailOnAbsentDisks(tx: Tx): Promise<void> {
  await run(tx)`
    insert into email.holder (node, seen_at)
    select distinct node, kernel.now() from (
      select node from email.recipient where done_at is null and node is not null
      union all select node from email.arrival where node is not null) n
        on conflict do nothing`;
  await run(tx)`delete from email.held_away`;
  await run(tx)`
    insert into email.held_away (node, org_id, recipients, arrivals, oldest_at)
    select w.node, w.org_id, sum(w.recipients), sum(w.arrivals), min(w.oldest_at) from (
      select node, org_id, count(*) as recipients, 0 as arrivals, min(state_at) as oldest_at
        from email.recipient where done_at is null and node is not null group by node, org_id
      union all
      select node, org_id, 0, count(*), min(received_at) from email.arrival where node is not null group by node, org_id) w
      join email.holder h on h.node = w.node and h.seen_at < kernel.now() - ${absentAfter}
     group by w.node, w.org_id`;
}

const AbsentDiskRow = Type.Object({
  node: Type.String(),
  org_id: Type.String(),
  recipients: Type.Integer(),
  arrivals: Type.Integer(),
  oldest_seconds: Type.Number(),
  seen_at: Type.String(),
  gone_at: Type.String(),
});
export type AbsentDiskRow = Static<typeof AbsentDiskRow>;

/** Seconds until mail in an absent directory is given up. */
const giveUpAfterSeconds = 24 * 3_600;

/** As last counted by the task, once a minute. */
export const mailOnAbsentDisks = (tx: Tx): Promise<AbsentDiskRow[]> => rows(tx, AbsentDiskRow)`
  select a.node, a.org_id, a.recipients, a.arrivals, extract(epoch from kernel.now() - a.oldest_at)::float8 as oldest_seconds, h.seen_at,
         kernel.now() + make_interval(secs => ${giveUpAfterSeconds} - h.away_seconds) as gone_at
    from email.held_away a join email.holder h on h.node = a.node order by a.node, a.org_id`;

const NodeRow = Type.Object({ node: Type.String() });

/** Directories absent for so long that their mail counts as lost. */
export const findLostDirectories = async (tx: Tx): Promise<string[]> =>
  (
    await rows(tx, NodeRow)`
      select h.node from email.holder h where h.away_seconds >= ${giveUpAfterSeconds} and exists (select from email.held_away a where a.node = h.node)`
  ).map(({ node }) => node);

/** Locks an absent directory until the transaction ends. False: it has returned. */
export const lockLostDirectory = async (tx: Tx, node: string): Promise<boolean> =>
  (await run(tx)`select from email.holder where node = ${node} and away_seconds >= ${giveUpAfterSeconds} for update`) > 0;

const LostRow = Type.Object({ org_id: Type.String(), message_id: Type.String(), address: Type.String() });

/** Fails a batch of recipients whose mail was in the lost directory. Messages are locked first, as everywhere. */
export async function failRecipientsOnLostDisk(tx: Tx, node: string, limit: number, why: string): Promise<Static<typeof LostRow>[]> {
  const found = await rows(tx, Type.Object({ id: Type.String() }))`
    select m.id from email.message m
     where m.id in (select r.message_id from email.recipient r where r.done_at is null and r.node = ${node} order by r.id limit ${limit})
     order by m.id for update`;
  return rows(tx, LostRow)`
    update email.recipient r
       set state = 'failed', state_at = c.now, last_error = ${why}, done_at = c.now, lease = null, lease_until = null
      from (select kernel.now() as now offset 0) c
     where r.message_id = any(${found.map(({ id }) => id)}::text[]) and r.done_at is null and r.node = ${node}
    returning r.org_id, r.message_id, r.address`;
}

/** Lets any process claim the arrivals; it reports that their content is gone. */
export const releaseArrivalsOfNode = (tx: Tx, node: string) => run(tx)`update email.arrival set node = null where node = ${node}`;

/** Deletes rows of unreadable segments. A segment that returns with its directory is stored all the same. */
export const deleteUnstoredSegments = (tx: Tx, node: string) =>
  run(tx)`delete from email.segment where node = ${node} and stored_at is null`;

/** Directories without mail that were absent for 7 days. */
export const deleteAbsentDirectories = (tx: Tx) => run(tx)`
  delete from email.holder h where h.seen_at < kernel.now() - interval '7 days' and not exists (select from email.held_away a where a.node = h.node)`;

// After a clock was set back, leases and due times lie far in the future, and mail would wait until that time.

/** No lease is longer; one that ends later was made by another clock. */
const maxLease = sql`interval '11 minutes'`;
const defaultLease = sql`interval '60 seconds'`;
/** Longer than any retry delay. */
const maxRetryDelay = sql`interval '6 hours'`;
/** Tolerance for mail that is due at once. */
const dueTolerance = sql`interval '5 minutes'`;

/** Shortens such leases to the default, which a live server renews in time, and makes such mail due now unless its sender scheduled it. */
export async function repairFutureTimes(tx: Tx): Promise<void> {
  const now = sql`(select kernel.now())`;
  await run(
    tx,
  )`update email.recipient set lease_until = ${now} + ${defaultLease} where done_at is null and lease_until > ${now} + ${maxLease}`;
  await run(tx)`update email.arrival set lease_until = ${now} + ${defaultLease} where lease_until > ${now} + ${maxLease}`;
  await run(tx)`
    update email.recipient r set run_at = ${now}
     where r.done_at is null and r.run_at > ${now} + case when r.state = 'queued' then ${dueTolerance} else ${maxRetryDelay} end
       and not exists (select from email.message m where m.id = r.message_id and m.scheduled_at >= r.run_at)`;
  await run(tx)`update email.arrival set run_at = ${now} where run_at > ${now} + ${dueTolerance}`;
  // A last-seen time in the future would make a dead directory look alive.
  await run(tx)`update email.holder set seen_at = ${now} where seen_at > ${now} + ${absentAfter}`;
}
