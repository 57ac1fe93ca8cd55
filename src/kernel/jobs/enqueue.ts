import Type from 'typebox';
import { row, rows, run, type Slot, type Tx } from '../db/index.ts';
import { type Sql, sql } from '../sql.ts';
import type { Job, NamedJob } from './declare.ts';
import { laneChannel } from './wake.ts';

/** A new job and when it is due: at `runAt`, after `delaySeconds`, or now. A time in the past means now. */
export type NewJob<P> = {
  key: string;
  runAt?: string;
  delaySeconds?: number;
  org?: string;
  requestId?: string;
} & (undefined extends P ? { payload?: P } : { payload: P });

const InsertedRow = Type.Object({
  id: Type.Integer(),
  lane: Type.String(),
  run_at: Type.String(),
  lease: Type.Union([Type.String(), Type.Null()]),
  soon: Type.Boolean(),
});
const LeasedRow = Type.Pick(InsertedRow, ['id', 'run_at']);
const WaitingRow = Type.Pick(InsertedRow, ['soon']);
const KeyRow = Type.Object({ key: Type.String() });
const RunningRow = Type.Object({ running: Type.Boolean() });

// Workers poll once a second, so a wake pays only for jobs that are due before the next poll.
const soon = sql`run_at <= created_at + interval '1.1 seconds' as soon`;

/** A job of any kind to insert. */
export type WantedJob = { job: Job | NamedJob } & NewJob<unknown>;

/**
 * Inserts a job in the transaction that causes it. False when (kind, key) is unfinished already, waiting or running: the key names the unit
 * of work, not an occasion to check again. For the latter, `reschedule` reaches a running job as well.
 */
export const enqueue = <P>(tx: Tx, job: Job<P> | NamedJob, given: NewJob<P>): Promise<boolean> => enqueueOne(tx, { ...given, job });

function enqueueOne(tx: Tx, wanted: WantedJob): Promise<boolean> {
  const slot = takeSlot(tx, wanted);
  return slot ? insertLeased(tx, wanted, slot) : insertWaiting(tx, wanted);
}

/** The common case of a single job: without the list, PostgreSQL takes two thirds of the time. */
async function insertWaiting(
  tx: Tx,
  { job: { lane, kind }, key, payload, org, requestId, runAt, delaySeconds }: WantedJob,
): Promise<boolean> {
  const inserted = await row(tx, WaitingRow)`
    insert into kernel.job (lane, kind, key, payload, org_id, request_id, run_at, created_at)
    select ${lane}, ${kind}, ${key}, ${json(payload)}::jsonb, ${org ?? null}, ${requestId ?? null},
           greatest(coalesce(${runAt ?? null}::timestamptz, c.now + make_interval(secs => ${delaySeconds ?? 0})), c.now), c.now
      from (select kernel.now() as now offset 0) c
    on conflict (kind, key) where dead_at is null do nothing
    returning run_at <= created_at + interval '1.1 seconds' as soon`;
  if (inserted?.soon) tx.wake(laneChannel(lane));
  return inserted !== undefined;
}

/** The same under the lease of a slot, in which it starts. */
async function insertLeased(tx: Tx, { job: { lane, kind }, key, payload, org, requestId }: WantedJob, slot: Slot): Promise<boolean> {
  try {
    const stored = json(payload);
    const inserted = await row(tx, LeasedRow)`
      insert into kernel.job (lane, kind, key, payload, org_id, request_id, run_at, created_at, lease, lease_until, attempts)
      select ${lane}, ${kind}, ${key}, ${stored}::jsonb, ${org ?? null}, ${requestId ?? null}, c.now, c.now,
             ${slot.lease}::uuid, c.now + make_interval(secs => ${slot.leaseSeconds}), 1
        from (select kernel.now() as now offset 0) c
      on conflict (kind, key) where dead_at is null do nothing
      returning id, run_at`;
    startAfterCommit(tx, { slot, key, stored, ...(requestId === undefined ? {} : { requestId }) }, inserted);
    return inserted !== undefined;
  } catch (error) {
    slot.release();
    throw error;
  }
}

/**
 * Inserts many jobs of any kinds in one statement and returns how many were new. Jobs that get a slot here are inserted under its lease.
 */
export async function enqueueAll(tx: Tx, wanted: readonly WantedJob[]): Promise<number> {
  if (wanted.length <= 1) return wanted[0] && (await enqueueOne(tx, wanted[0])) ? 1 : 0;
  const slots = wanted.map((w) => takeSlot(tx, w));
  try {
    // The payload as inserted, even if the caller changes its object meanwhile.
    const leased = slots.flatMap((slot, i) => (slot ? [{ slot, ...wanted[i]!, stored: json(wanted[i]!.payload) }] : []));
    const inserted = await insertJobs(tx, wanted, slots);
    for (const { lane } of inserted.filter((i) => i.soon && i.lease === null)) tx.wake(laneChannel(lane));
    for (const birth of leased)
      startAfterCommit(
        tx,
        birth,
        inserted.find((made) => made.lease === birth.slot.lease),
      );
    return inserted.length;
  } catch (error) {
    for (const slot of slots) slot?.release();
    throw error;
  }
}

/** A slot of this process, for a job that is due at once. */
const takeSlot = (tx: Tx, { job, org, runAt, delaySeconds = 0 }: WantedJob): Slot | undefined =>
  job.beginsHere && runAt === undefined && delaySeconds <= 0 ? tx.slots?.take({ lane: job.lane, kind: job.kind, org }) : undefined;

interface LeasedInsert extends Pick<WantedJob, 'key' | 'requestId'> {
  slot: Slot;
  /** Its payload as JSON. */
  stored: string | null;
}

/** Starts the job after COMMIT, or releases the slot. */
function startAfterCommit(tx: Tx, { slot, key, requestId, stored }: LeasedInsert, made: { id: number; run_at: string } | undefined): void {
  if (made) {
    tx.afterCommit(() => slot.begin({ id: made.id, key, payload: stored && JSON.parse(stored), requestId, runAt: made.run_at }));
    tx.afterFailure(slot.release);
  } else slot.release();
}

/** As JSON: for arrays PostgreSQL would look at their lengths, and plan anew for every statement. */
function insertJobs(tx: Tx, wanted: readonly WantedJob[], slots: readonly (Slot | undefined)[]) {
  const made = wanted.map(({ job: { lane, kind }, key, payload, org, requestId, runAt, delaySeconds }, i) => ({
    lane,
    kind,
    key,
    payload,
    org,
    requestId,
    runAt,
    delaySeconds,
    lease: slots[i]?.lease,
    leaseSeconds: slots[i]?.leaseSeconds,
  }));
  // In key order: two transactions that insert the same keys then wait for each other instead of deadlocking.
  return rows(tx, InsertedRow)`
    insert into kernel.job (lane, kind, key, payload, org_id, request_id, run_at, created_at, lease, lease_until, attempts)
    select w.lane, w.kind, w.key, w.payload, w.org, w."requestId",
           greatest(coalesce(w."runAt", c.now + make_interval(secs => w."delaySeconds")), c.now), c.now,
           w.lease, c.now + make_interval(secs => w."leaseSeconds"), (w.lease is not null)::int
      from jsonb_to_recordset(${JSON.stringify(made)}::jsonb)
             as w(lane text, kind text, key text, payload jsonb, org text, "requestId" text, "runAt" timestamptz, "delaySeconds" float8,
                  lease uuid, "leaseSeconds" int),
           (select kernel.now() as now offset 0) c
     order by w.kind, w.key
    on conflict (kind, key) where dead_at is null do nothing
    returning id, lane, run_at, lease, ${soon}`;
}

/** Many jobs of one kind. */
export const enqueueMany = <P>(tx: Tx, job: Job<P>, given: readonly NewJob<P>[]): Promise<number> =>
  enqueueAll(
    tx,
    given.map((g) => ({ ...g, job })),
  );

/**
 * Whether an unfinished job with this key exists, as part of another statement. A job ends in the transaction of its effects. So only a
 * single statement, with one snapshot, can tell work that lost its job from work that was just done.
 */
export const hasJob = ({ kind }: NamedJob, key: Sql): Sql =>
  sql`exists (select from kernel.job unfinished where unfinished.kind = ${kind} and unfinished.key = ${key} and unfinished.dead_at is null)`;

/**
 * Deletes an unfinished job. A running one goes on, but cannot finish: its holder notices at the next renewal, and its `finishWith` or
 * fenced effects are rolled back.
 */
export const cancel = async (tx: Tx, job: Job, key: string): Promise<'waiting' | 'running' | undefined> => {
  const gone = await row(tx, RunningRow)`
    delete from kernel.job where kind = ${job.kind} and key = ${key} and dead_at is null
    returning coalesce(lease_until > kernel.now(), false) as running`;
  return gone && (gone.running ? 'running' : 'waiting');
};

/**
 * Sets the next run of an unfinished job, now by default. A job that is running at this moment runs once more then. False when there is
 * none.
 */
export const reschedule = async (tx: Tx, job: Job, key: string, when: { runAt?: string; delaySeconds?: number } = {}): Promise<boolean> => {
  // By the lease, not by its end: a holder whose lease has lapsed may still finish until another worker claims the job.
  const moved = await run(tx)`
    update kernel.job set run_at = case when lease is null then c.at else run_at end, again_at = case when lease is not null then c.at end
      from (select greatest(n.now, ${when.runAt ?? null}::timestamptz, n.now + make_interval(secs => ${when.delaySeconds ?? 0})) as at
              from (select kernel.now() as now offset 0) n offset 0) c
     where kind = ${job.kind} and key = ${key} and dead_at is null`;
  if (moved) tx.wake(laneChannel(job.lane));
  return moved > 0;
};

/** The limit of retries: another transaction cannot delete and reinsert the job more often in this time. */
const maxAttempts = 5;

/**
 * Runs the job at that time, now by default, whether or not one waits or runs. If the job ends and is inserted again while this transaction
 * waits for its row, it is neither moved (the old row is gone) nor inserted (the new one conflicts). So both are retried.
 */
export async function moveOrEnqueue(tx: Tx, job: Job, given: NewJob<unknown>): Promise<void> {
  const { key, runAt, delaySeconds } = given;
  const when = { ...(runAt === undefined ? {} : { runAt }), ...(delaySeconds === undefined ? {} : { delaySeconds }) };
  for (let attempt = 0; attempt < maxAttempts; attempt++)
    if ((await reschedule(tx, job, key, when)) || (await enqueue(tx, job, given))) return;
  throw new Error(`the job ${job.kind} ${key} could neither be moved nor inserted`);
}

/** Reschedules many jobs of one kind in one statement, each by its own delay. Returns the keys that exist. */
export const rescheduleMany = async (tx: Tx, job: Job, given: readonly { key: string; delaySeconds: number }[]): Promise<Set<string>> => {
  if (given.length === 0) return new Set();
  // In key order, as they are inserted.
  const moved = await rows(tx, KeyRow)`
    with mine as (
      select j.id, c.now + make_interval(secs => g.delay) as at
        from unnest(${given.map((g) => g.key)}::text[], ${given.map((g) => g.delaySeconds)}::float8[]) as g(key, delay)
        join kernel.job j on j.kind = ${job.kind} and j.key = g.key and j.dead_at is null,
             (select kernel.now() as now offset 0) c
       order by j.key for update of j)
    update kernel.job j set run_at = case when j.lease is null then mine.at else j.run_at end, again_at = case when j.lease is not null then mine.at end
      from mine where j.id = mine.id returning j.key`;
  if (moved.length) tx.wake(laneChannel(job.lane));
  return new Set(moved.map((m) => m.key));
};

export interface Postponed<P> {
  org: string;
  /** Selects the organization's jobs whose payload contains this. */
  payload: Partial<P>;
  /** Jobs that fall due within this many seconds are included. */
  withinSeconds: number;
  /** How many of the organization's oldest jobs are considered. */
  limit: number;
  /** The delay of the first job, and the extra delay of each further one. None is later than `mostSeconds` plus up to a fifth. */
  fromSeconds: number;
  eachSeconds: number;
  mostSeconds: number;
  why: string;
}

/**
 * Postpones jobs whose target is unavailable, without claiming each. Returns how many were moved. Running jobs are left alone, and so are
 * jobs that another transaction has locked.
 */
export const postponeMany = <P>(tx: Tx, { lane, kind }: Job<P>, wanted: Postponed<P>): Promise<number> => run(tx)`
  with clock as materialized (select kernel.now() as now),
       oldest as materialized (
         select q.id, q.run_at, q.payload from kernel.job q
          where q.lane = ${lane} and coalesce(q.org_id, '-') = ${wanted.org} and q.kind = ${kind} and q.dead_at is null and q.lease is null
            and q.run_at <= (select now from clock) + make_interval(secs => ${wanted.withinSeconds})
          order by q.run_at, q.id limit ${wanted.limit}),
       mine as materialized (
         select q.id, o.run_at from oldest o join kernel.job q on q.id = o.id
          where o.payload @> ${json(wanted.payload)}::jsonb and q.lease is null and q.dead_at is null for update of q skip locked),
       place as (select id, (row_number() over (order by run_at, id) - 1)::int as n from mine)
  update kernel.job j
     set last_error = ${wanted.why},
         run_at = clock.now + make_interval(secs => least(${wanted.fromSeconds} + p.n * ${wanted.eachSeconds}::float8, ${wanted.mostSeconds}) * (1 + 0.2 * random()))
    from place p, clock where j.id = p.id`;

const json = (payload: unknown): string | null => (payload === undefined ? null : JSON.stringify(payload));
