import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../db/index.ts';
import { type Sql, sql } from '../sql.ts';
import { LeaseLost } from './declare.ts';
import { claim, claimFairly, type FairClaim, type Leased, orgsAfter, type Queue, settle, type Verdict } from './lease.ts';
import type { Outcome } from './outcome.ts';

export const jobQueue: Queue = { table: sql`kernel.job`, idType: sql`bigint` };

const ClaimedRow = Type.Object({
  id: Type.Integer(),
  kind: Type.String(),
  key: Type.String(),
  payload: Type.Unknown(),
  org_id: Type.Union([Type.String(), Type.Null()]),
  request_id: Type.Union([Type.String(), Type.Null()]),
  attempts: Type.Integer(),
  lease: Type.String(),
  late_ms: Type.Number(),
  place: Type.Integer(),
  run_at: Type.String(),
});
export type ClaimedJob = Static<typeof ClaimedRow>;

/**
 * Where a claim starts to scan. Finished rows stay in the index until no snapshot needs them; during a backup that is every row since its
 * start. A claim that always started at the oldest would step over all of them each time.
 */
export type ClaimFrom = { oldest: true } | { withinSeconds: number } | { after: Pick<ClaimedJob, 'run_at' | 'id'> };

const scanFrom = (from: ClaimFrom): Sql => {
  if ('after' in from) return sql`(q.run_at, q.id) > (${from.after.run_at}::timestamptz, ${from.after.id}::bigint)`;
  return 'withinSeconds' in from ? sql`q.run_at > (select now from clock) - make_interval(secs => ${from.withinSeconds})` : sql`true`;
};

export interface JobClaim {
  lane: string;
  /** The kinds this worker knows, with their leases. */
  kinds: ReadonlyMap<string, number>;
  limit: number;
  lease: string;
  unanswered: readonly string[];
  /** A process never claims a job that it holds a lease on, however the clock moved. */
  leasedHere: readonly number[];
}

/** Oldest first, of any organization. */
export const claimJobs = (tx: Tx, { from, ...wanted }: JobClaim & { from: ClaimFrom }): Promise<ClaimedJob[]> =>
  claim(tx, ClaimedRow, jobQueue, {
    ...wanted,
    ...claimOf(wanted, sql`, 0 as place`),
    which: sql`${inLane(wanted)} and ${scanFrom(from)}`,
  });

/** The organization of a job, as the index has it. */
const orgOfJob = sql`coalesce(q.org_id, '-')`;
export const orgKeyOf = ({ org_id }: Pick<ClaimedJob, 'org_id'>): string => org_id ?? '-';

/** The organizations with jobs in a lane, due or not. */
export const jobOrgsAfter = (tx: Tx, lane: string, after: string): Promise<string[]> =>
  orgsAfter(tx, jobQueue, { which: sql`q.lane = ${lane} and q.dead_at is null`, org: orgOfJob, after });

/** These organizations in turn. */
export const claimJobsFairly = (
  tx: Tx,
  wanted: JobClaim & Pick<FairClaim, 'orgs' | 'perOrg' | 'running' | 'seen'>,
): Promise<ClaimedJob[]> =>
  claimFairly(tx, ClaimedRow, jobQueue, {
    ...wanted,
    ...claimOf(wanted),
    which: inLane(wanted),
    org: orgOfJob,
  });

const inLane = ({ lane, kinds, leasedHere }: JobClaim): Sql =>
  sql`q.lane = ${lane} and q.kind = any(${[...kinds.keys()]}::text[]) and q.dead_at is null and q.id <> all(${leasedHere}::bigint[])`;

const claimOf = ({ kinds }: JobClaim, more: Sql = sql``) => ({
  leaseSeconds: sql`(${JSON.stringify(Object.fromEntries(kinds))}::jsonb ->> q.kind)::int`,
  returning: sql`q.id, q.kind, q.key, q.payload, q.org_id, q.request_id, q.attempts, q.run_at ${more}`,
});

const WaitRow = Type.Object({ ms: Type.Integer() });

/** The time until a job of this lane falls due, at most `most`. By the database's clock, so that ours may be wrong. */
export const nextDueIn = async (tx: Tx, lane: string, kinds: readonly string[], maxMs: number): Promise<number> =>
  (
    await row(tx, WaitRow)`
      select ceil(least(extract(epoch from j.run_at - (select kernel.now())) * 1000, ${maxMs}))::int as ms from kernel.job j
       where j.lane = ${lane} and j.kind = any(${kinds}::text[]) and j.dead_at is null and j.run_at > (select kernel.now())
       order by j.run_at limit 1`
  )?.ms ?? maxMs;

/** Deletes finished jobs, except those that were rescheduled while they ran. */
export const finishJobs = (tx: Tx, leased: readonly Leased[]): Promise<Verdict[]> =>
  settle(
    tx,
    jobQueue,
    leased,
    sql`q.id, q.again_at`,
    sql`finished as (delete from kernel.job j using mine where j.id = mine.id and mine.again_at is null),
        repeated as (update kernel.job j set run_at = greatest(clock.now, mine.again_at), again_at = null, attempts = 0, lease = null, lease_until = null, last_error = null
                       from mine, clock where j.id = mine.id and mine.again_at is not null)`,
    sql`case when m.again_at is null then 'settled' else 'again' end`,
  );

/** Every outcome but done: retried, dead, or released. */
export function returnJobs(tx: Tx, leased: readonly (Leased & { outcome: Exclude<Outcome, { is: 'done' }> })[]): Promise<Verdict[]> {
  const outcomes = leased.map((l) => l.outcome);
  const is = outcomes.map((o) => o.is);
  const seconds = outcomes.map((o) => (o.is === 'retry' && 'inSeconds' in o ? o.inSeconds : null));
  const at = outcomes.map((o) => (o.is === 'retry' && 'at' in o ? o.at : null));
  const errors = outcomes.map((o) => (o.is === 'released' ? null : o.error));
  return settle(
    tx,
    jobQueue,
    leased,
    sql`q.id`,
    sql`fate as (select * from unnest(${is}::text[], ${seconds}::float8[], ${at}::timestamptz[], ${errors}::text[]) with ordinality as f(is_, seconds, at, error, n)),
        put_back as (
          update kernel.job j
             set lease = null, lease_until = null, again_at = null,
                 last_error = coalesce(f.error, j.last_error),
                 attempts = case when j.again_at is not null then 0 when f.is_ = 'released' then greatest(j.attempts - 1, 0) else j.attempts end,
                 run_at = greatest(clock.now, coalesce(j.again_at, f.at, clock.now + make_interval(secs => f.seconds))),
                 dead_at = case when j.again_at is null and f.is_ = 'dead' then clock.now end
            from mine join fate f using (n), clock where j.id = mine.id)`,
  );
}

/** The end of a job as a part of another statement. */
export const endingOne = ({ id, lease }: Leased): Sql =>
  sql`delete from kernel.job where id = ${id} and lease = ${lease} and again_at is null returning id`;

/** In the handler's own transaction: waits for the row if necessary, and is definite. */
export async function finishOne(tx: Tx, { id, lease }: Leased): Promise<'settled' | 'again'> {
  if (await run(tx)`${endingOne({ id, lease })}`) return 'settled';
  const repeated = await run(tx)`
    update kernel.job set run_at = greatest(again_at, kernel.now()), again_at = null, attempts = 0, lease = null, lease_until = null, last_error = null
     where id = ${id} and lease = ${lease}`;
  if (!repeated) throw new LeaseLost();
  return 'again';
}

/** Returns a row while the lease holds, and locks the job until the statement's transaction ends. */
export const fencedOne = ({ id, lease }: Leased): Sql => sql`select id from kernel.job where id = ${id} and lease = ${lease} for update`;

export async function fenceOne(tx: Tx, leased: Leased): Promise<void> {
  if (!(await run(tx)`${fencedOne(leased)}`)) throw new LeaseLost();
}

/**
 * A clock that was set back leaves leases that end far in its future, and a crashed worker would keep its jobs until then. Such leases are
 * shortened to an ordinary one; a live worker renews it in time.
 */
export const shortenBrokenLeases = (tx: Tx) => run(tx)`
  update kernel.job set lease_until = kernel.now() + interval '30 seconds' where lease_until > (select kernel.now()) + interval '11 minutes'`;

export const deleteOldDead = (tx: Tx) => run(tx)`
  delete from kernel.job where id in (
    select id from kernel.job where dead_at < (select kernel.now()) - interval '30 days' order by dead_at limit 5000 for update skip locked)`;

export const deleteOldIdempotency = (tx: Tx) => run(tx)`
  delete from kernel.idempotency where ctid in (
    select ctid from kernel.idempotency where created_at < (select kernel.now()) - interval '24 hours' order by created_at limit 5000 for update skip locked)`;
