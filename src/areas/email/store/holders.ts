import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

// Data directories that hold bytes of mail which no other machine reads.

/** A server says so every ten seconds: one that was not heard for so long is away. */
const awayAfter = sql`interval '60 seconds'`;

const NowRow = Type.Object({ seen_at: Type.String() });

export const noteHolder = async (tx: Tx, node: string): Promise<string> =>
  (await row(tx, NowRow)`
    insert into email.holder as h (node, seen_at) values (${node}, kernel.now())
        on conflict (node) do update set seen_at = greatest(h.seen_at, excluded.seen_at), away_seconds = 0 returning seen_at`)!.seen_at;

/** A look counts at most so much of the time since the one before it: a clock that jumps, and hours in which no server ran, count no more. */
const mostBetweenLooks = 120;

/** Adds up for how long directories have been away while somebody looked. */
export const watchHolders = (tx: Tx) => run(tx)`
  update email.holder h
     set watched_at = c.now,
         away_seconds = case when h.seen_at >= c.now - ${awayAfter} then 0
                             else h.away_seconds + least(greatest(extract(epoch from c.now - coalesce(h.watched_at, c.now)), 0), ${mostBetweenLooks})::int end
    from (select kernel.now() as now offset 0) c`;

/** Counts what waits on directories whose servers are away. One that was never heard of (a server of an older release) counts as heard now. */
export async function countHeldAway(tx: Tx): Promise<void> {
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
      join email.holder h on h.node = w.node and h.seen_at < kernel.now() - ${awayAfter}
     group by w.node, w.org_id`;
}

const HeldAwayRow = Type.Object({
  node: Type.String(),
  org_id: Type.String(),
  recipients: Type.Integer(),
  arrivals: Type.Integer(),
  oldest_seconds: Type.Number(),
  seen_at: Type.String(),
  gone_at: Type.String(),
});
export type HeldAwayRow = Static<typeof HeldAwayRow>;

/** Seconds for which mail waits for a directory to come back. */
const givenUpAfter = 24 * 3_600;

/** As it was last counted. */
export const heldAway = (tx: Tx): Promise<HeldAwayRow[]> => rows(tx, HeldAwayRow)`
  select a.node, a.org_id, a.recipients, a.arrivals, extract(epoch from kernel.now() - a.oldest_at)::float8 as oldest_seconds, h.seen_at,
         kernel.now() + make_interval(secs => ${givenUpAfter} - h.away_seconds) as gone_at
    from email.held_away a join email.holder h on h.node = a.node order by a.node, a.org_id`;

const NodeRow = Type.Object({ node: Type.String() });

/** Directories that are away for so long that what they hold counts as lost. */
export const findGone = async (tx: Tx): Promise<string[]> =>
  (
    await rows(tx, NodeRow)`
      select h.node from email.holder h where h.away_seconds >= ${givenUpAfter} and exists (select from email.held_away a where a.node = h.node)`
  ).map(({ node }) => node);

/** Keeps such a directory from coming back until this transaction ends. False: it is back already. */
export const lockGone = async (tx: Tx, node: string): Promise<boolean> =>
  (await run(tx)`select from email.holder where node = ${node} and away_seconds >= ${givenUpAfter} for update`) > 0;

const LostRow = Type.Object({ org_id: Type.String(), message_id: Type.String(), address: Type.String() });

/** Recipients whose mail was on such a directory, some of them: they have failed. Messages are locked first, as everywhere. */
export async function failLost(tx: Tx, node: string, most: number, why: string): Promise<Static<typeof LostRow>[]> {
  const found = await rows(tx, Type.Object({ id: Type.String() }))`
    select m.id from email.message m
     where m.id in (select r.message_id from email.recipient r where r.done_at is null and r.node = ${node} order by r.id limit ${most})
     order by m.id for update`;
  return rows(tx, LostRow)`
    update email.recipient r
       set state = 'failed', state_at = c.now, last_error = ${why}, done_at = c.now, lease = null, lease_until = null
      from (select kernel.now() as now offset 0) c
     where r.message_id = any(${found.map(({ id }) => id)}::text[]) and r.done_at is null and r.node = ${node}
    returning r.org_id, r.message_id, r.address`;
}

/** What arrived there is read by anybody, who finds that its content is gone and says so. */
export const freeArrivals = (tx: Tx, node: string) => run(tx)`update email.arrival set node = null where node = ${node}`;

/** Segments that nobody can read any more. One that comes back with its directory is stored all the same. */
export const forgetSegments = (tx: Tx, node: string) => run(tx)`delete from email.segment where node = ${node} and stored_at is null`;

/** Directories that are long gone and hold nothing. */
export const forgetHolders = (tx: Tx) => run(tx)`
  delete from email.holder h where h.seen_at < kernel.now() - interval '7 days' and not exists (select from email.held_away a where a.node = h.node)`;

// A clock that was set back leaves leases and times that lie far in its future: mail would wait until the old time comes again.

/** Longer than any lease here; one that ends later was made by another clock. */
const longestLease = sql`interval '11 minutes'`;
const usualLease = sql`interval '60 seconds'`;
/** Longer than the longest wait between two tries. */
const longestWait = sql`interval '6 hours'`;
/** Of what is due at once. */
const aMoment = sql`interval '5 minutes'`;

/** Such leases become ordinary ones, which a server that still lives renews in time; such mail is due now, but for what its sender has scheduled. */
export async function mendTimes(tx: Tx): Promise<void> {
  const now = sql`(select kernel.now())`;
  await run(
    tx,
  )`update email.recipient set lease_until = ${now} + ${usualLease} where done_at is null and lease_until > ${now} + ${longestLease}`;
  await run(tx)`update email.arrival set lease_until = ${now} + ${usualLease} where lease_until > ${now} + ${longestLease}`;
  await run(tx)`
    update email.recipient r set run_at = ${now}
     where r.done_at is null and r.run_at > ${now} + case when r.state = 'queued' then ${aMoment} else ${longestWait} end
       and not exists (select from email.message m where m.id = r.message_id and m.scheduled_at >= r.run_at)`;
  await run(tx)`update email.arrival set run_at = ${now} where run_at > ${now} + ${aMoment}`;
  // A disk is not heard of in the future: until that time came, a dead one would look alive.
  await run(tx)`update email.holder set seen_at = ${now} where seen_at > ${now} + ${awayAfter}`;
}
