import Type from 'typebox';
import { row, rows, run, type Slot, type Tx } from '../db/index.ts';
import { type Sql, sql } from '../sql.ts';
import type { Job, NamedJob } from './declare.ts';
import { laneChannel } from './wake.ts';

/** What a job is, and when it is due: at `runAt`, after `delaySeconds`, or now. A time that has passed means now. */
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
const BornRow = Type.Pick(InsertedRow, ['id', 'run_at']);
const WaitingRow = Type.Pick(InsertedRow, ['soon']);
const KeyRow = Type.Object({ key: Type.String() });
const RunningRow = Type.Object({ running: Type.Boolean() });

// Workers look once a second by themselves, so only what is due before their next look is worth waking them for.
const soon = sql`run_at <= created_at + interval '1.1 seconds' as soon`;

/** A job of whatever kind that is wanted. */
export type WantedJob = { job: Job | NamedJob } & NewJob<unknown>;

/**
 * Inserts a job in the transaction that causes it. False when (kind, key) is unfinished already, waiting or running: the key names
 * the unit of work, not an occasion to look again. For the latter, `reschedule` reaches a running job as well.
 */
export const enqueue = <P>(tx: Tx, job: Job<P> | NamedJob, given: NewJob<P>): Promise<boolean> => enqueueOne(tx, { ...given, job });

function enqueueOne(tx: Tx, wanted: WantedJob): Promise<boolean> {
  const slot = takeSlot(tx, wanted);
  return slot ? insertBorn(tx, wanted, slot) : insertWaiting(tx, wanted);
}

/** One alone, as most are: without the list, PostgreSQL does it in two thirds of the time. */
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

/** The same under the lease of a slot, in which it begins. */
async function insertBorn(tx: Tx, { job: { lane, kind }, key, payload, org, requestId }: WantedJob, slot: Slot): Promise<boolean> {
  try {
    const stored = json(payload);
    const born = await row(tx, BornRow)`
      insert into kernel.job (lane, kind, key, payload, org_id, request_id, run_at, created_at, lease, lease_until, attempts)
      select ${lane}, ${kind}, ${key}, ${stored}::jsonb, ${org ?? null}, ${requestId ?? null}, c.now, c.now,
             ${slot.lease}::uuid, c.now + make_interval(secs => ${slot.leaseSeconds}), 1
        from (select kernel.now() as now offset 0) c
      on conflict (kind, key) where dead_at is null do nothing
      returning id, run_at`;
    beginLater(tx, { slot, key, stored, ...(requestId === undefined ? {} : { requestId }) }, born);
    return born !== undefined;
  } catch (error) {
    slot.release();
    throw error;
  }
}

/** Many in one statement, of whatever kinds: how many were new. Those that find a slot here are inserted under its lease. */
export async function enqueueAll(tx: Tx, wanted: readonly WantedJob[]): Promise<number> {
  if (wanted.length <= 1) return wanted[0] && (await enqueueOne(tx, wanted[0])) ? 1 : 0;
  const births = wanted.map((w) => takeSlot(tx, w));
  try {
    // Its payload as it is inserted, whatever becomes of the caller's object meanwhile.
    const born = births.flatMap((slot, i) => (slot ? [{ slot, ...wanted[i]!, stored: json(wanted[i]!.payload) }] : []));
    const inserted = await insertJobs(tx, wanted, births);
    for (const { lane } of inserted.filter((i) => i.soon && i.lease === null)) tx.wake(laneChannel(lane));
    for (const birth of born)
      beginLater(
        tx,
        birth,
        inserted.find((made) => made.lease === birth.slot.lease),
      );
    return inserted.length;
  } catch (error) {
    for (const slot of births) slot?.release();
    throw error;
  }
}

/** For what is due at once, in this process. */
const takeSlot = (tx: Tx, { job, org, runAt, delaySeconds = 0 }: WantedJob): Slot | undefined =>
  job.beginsHere && runAt === undefined && delaySeconds <= 0 ? tx.slots?.take({ lane: job.lane, kind: job.kind, org }) : undefined;

interface Birth extends Pick<WantedJob, 'key' | 'requestId'> {
  slot: Slot;
  /** Its payload as JSON. */
  stored: string | null;
}

/** Once it has committed. */
function beginLater(tx: Tx, { slot, key, requestId, stored }: Birth, made: { id: number; run_at: string } | undefined): void {
  if (made) {
    tx.afterCommit(() => slot.begin({ id: made.id, key, payload: stored && JSON.parse(stored), requestId, runAt: made.run_at }));
    tx.afterFailure(slot.release);
  } else slot.release();
}

/** As JSON: of lists PostgreSQL would look at the lengths, and plan anew for every statement. */
function insertJobs(tx: Tx, wanted: readonly WantedJob[], births: readonly (Slot | undefined)[]) {
  const made = wanted.map(({ job: { lane, kind }, key, payload, org, requestId, runAt, delaySeconds }, i) => ({
    lane,
    kind,
    key,
    payload,
    org,
    requestId,
    runAt,
    delaySeconds,
    lease: births[i]?.lease,
    leaseSeconds: births[i]?.leaseSeconds,
  }));
  // In the order of the keys: two transactions that insert the same ones then wait for each other instead of deadlocking.
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

/** Many of one kind. */
export const enqueueMany = <P>(tx: Tx, job: Job<P>, given: readonly NewJob<P>[]): Promise<number> =>
  enqueueAll(
    tx,
    given.map((g) => ({ ...g, job })),
  );

/**
 * Whether there is an unfinished job with this key, as part of another statement: a job ends in the transaction of its effects, so only one
 * statement, which sees one moment, tells work that has lost its job from work that has just been done.
 */
export const hasJob = ({ kind }: NamedJob, key: Sql): Sql =>
  sql`exists (select from kernel.job unfinished where unfinished.kind = ${kind} and unfinished.key = ${key} and unfinished.dead_at is null)`;

/**
 * Takes an unfinished job away. One that is running goes on, but cannot finish: its holder learns it at the next renewal, and
 * what it does with `finishWith` or behind `fence` is undone.
 */
export const cancel = async (tx: Tx, job: Job, key: string): Promise<'waiting' | 'running' | undefined> => {
  const gone = await row(tx, RunningRow)`
    delete from kernel.job where kind = ${job.kind} and key = ${key} and dead_at is null
    returning coalesce(lease_until > kernel.now(), false) as running`;
  return gone && (gone.running ? 'running' : 'waiting');
};

/** When an unfinished job runs next, now by default; one that is running at this moment runs once more then. False when there is none. */
export const reschedule = async (tx: Tx, job: Job, key: string, when: { runAt?: string; delaySeconds?: number } = {}): Promise<boolean> => {
  // By the lease, not by its end: a holder whose lease has lapsed may still finish as long as nobody else has claimed the job.
  const moved = await run(tx)`
    update kernel.job set run_at = case when lease is null then c.at else run_at end, again_at = case when lease is not null then c.at end
      from (select greatest(n.now, ${when.runAt ?? null}::timestamptz, n.now + make_interval(secs => ${when.delaySeconds ?? 0})) as at
              from (select kernel.now() as now offset 0) n offset 0) c
     where kind = ${job.kind} and key = ${key} and dead_at is null`;
  if (moved) tx.wake(laneChannel(job.lane));
  return moved > 0;
};

/** More often nobody can have taken the job away and made it again while we looked. */
const mostLooks = 5;

/**
 * The job runs then, now by default, whether or not there is one that waits or runs. One that ends and is made again in one transaction
 * while we wait for its row is neither moved (the old row is gone) nor inserted (the new one is in the way): so it is looked for again.
 */
export async function moveOrEnqueue(tx: Tx, job: Job, given: NewJob<unknown>): Promise<void> {
  const { key, runAt, delaySeconds } = given;
  const when = { ...(runAt === undefined ? {} : { runAt }), ...(delaySeconds === undefined ? {} : { delaySeconds }) };
  for (let looks = 0; looks < mostLooks; looks++) if ((await reschedule(tx, job, key, when)) || (await enqueue(tx, job, given))) return;
  throw new Error(`the job ${job.kind} ${key} could neither be moved nor inserted`);
}

/** Reschedules many of one kind in one statement, so many seconds from now each: the keys of those that there are. */
export const rescheduleMany = async (tx: Tx, job: Job, given: readonly { key: string; delaySeconds: number }[]): Promise<Set<string>> => {
  if (given.length === 0) return new Set();
  // In the order of the keys, as they are inserted.
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
  /** Which of the organization's: those whose payload holds this. */
  payload: Partial<P>;
  /** Those that fall due within so many seconds too. */
  withinSeconds: number;
  /** So many of the organization's oldest are looked at. */
  limit: number;
  /** The first comes back after so many seconds, each other one so many later, and none later than `mostSeconds` and up to a fifth. */
  fromSeconds: number;
  eachSeconds: number;
  mostSeconds: number;
  why: string;
}

/**
 * Sends off what waits for something that is not there now, without claiming each: how many were moved. What runs is left alone; so is what
 * another transaction has locked.
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
