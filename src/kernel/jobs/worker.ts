import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../app.ts';
import { openDb } from '../db.ts';
import { type Lane, lanes as laneNames, type ReadyJob, type ReadyTask, Stopping } from './declare.ts';
import { type Hold, makeHolds } from './holds.ts';
import { housekeeping } from './housekeeping.ts';
import { type LaneLoop, startLane } from './lane.ts';
import type { Outcome } from './outcome.ts';
import { makeRecorder } from './recorder.ts';
import { runOnce } from './run.ts';
import type { Claimed } from './store.ts';
import { startTasks } from './tasks.ts';
import { clockMoved, laneChannel } from './wake.ts';

export interface WorkerEvents {
  /** `lateSeconds`: from when it was due until its handler began. */
  started?(job: { id: number; lane: Lane; kind: string; attempt: number; lateSeconds: number }): void;
  ended?(job: { id: number; lane: Lane; kind: string; attempt: number; seconds: number; outcome: Outcome['is'] | 'lost' }): void;
}

export interface WorkerOptions {
  app: App;
  jobs: readonly ReadyJob[];
  tasks?: readonly ReadyTask[];
  /** How many jobs of each lane run at once here. Zero leaves a lane to other processes. */
  lanes?: Partial<Record<Lane, number>>;
  events?: WorkerEvents;
  renewEveryMs?: number;
}

export interface Worker {
  snapshot(): { lanes: Record<Lane, { slots: number; running: number }>; held: number; tasks: string[] };
  /** No new claims; what runs has `graceMs` to end; what does not is given to the others at once. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

export const defaultSlots: Record<Lane, number> = { page: 16, mail: 32, webhook: 32, default: 32 };

/**
 * The planner's idea of a table that is empty now and holds 100,000 rows a minute later is always wrong, and a plan is kept per
 * connection. Every statement here is meant to walk an index, so on these connections nothing else is on offer.
 */
const alwaysByIndex = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_sort: 'off',
};

export function startWorker({ app, jobs, tasks = [], lanes = {}, events = {}, renewEveryMs = 10_000 }: WorkerOptions): Worker {
  const { log, waker } = app;
  const declared = new Map(jobs.map((job) => [job.kind, job]));
  if (declared.size !== jobs.length)
    throw new Error(`two jobs are declared with one kind: ${jobs.map((j) => j.kind).filter((kind, i, all) => all.indexOf(kind) !== i)}`);
  const kinds = new Map(jobs.map((job) => [job.kind, job.leaseSeconds]));
  const slots = { ...defaultSlots, ...lanes };

  const onError = (error: Error) => log.warn({ err: error }, 'trouble beside the worker’s statements');
  // Connections of its own: handlers that use up the pool keep neither a page from being claimed nor a lease from being renewed.
  const open = (max: number, settings: Record<string, string>) =>
    openDb({ connection: app.connection, max, checkRows: app.strict, settings: { ...alwaysByIndex, ...settings }, onError });
  // A claim need not be on disk before its job begins: if a crash of the server takes it back, so that another worker claims the
  // job too, then ours cannot finish it any more. An outcome must be.
  const claims = open(3, { synchronous_commit: 'off' });
  const outcomes = open(2, {});
  // Pages do not queue for a connection behind requests: most of those come just when somebody must be paged.
  const paging = openDb({ connection: app.connection, max: 8, checkRows: app.strict, onError });
  paging.onWake((channel) => waker.wake(channel));
  const holds = makeHolds({ db: claims, log, renewEveryMs });
  const recorder = makeRecorder({ db: outcomes, log });

  const hold = (job: Claimed, lane: string, claimedAt: number): Hold => {
    const leaseSeconds = kinds.get(job.kind)!;
    const held: Hold = { job, lane, leaseSeconds, abort: new AbortController(), sureUntil: claimedAt + leaseSeconds * 1000, lost: false };
    holds.add(held);
    return held;
  };

  const end = (held: Hold, outcome: Outcome) => {
    held.ending ??= record(held, outcome);
    return held.ending;
  };

  const record = async (held: Hold, outcome: Outcome): Promise<Outcome['is'] | 'lost'> => {
    const recorded = held.lost ? 'lost' : await recorder.record(held, outcome);
    if (recorded === 'lost') {
      holds.lose(held);
      return 'lost';
    }
    holds.remove(held);
    if (outcome.is === 'released' || recorded === 'again') waker.wake(laneChannel(held.lane));
    else if (outcome.is === 'retry') loops.get(held.lane as Lane)?.wake();
    return outcome.is;
  };

  const begin = async (lane: Lane, job: Claimed, claimedAt: number) => {
    const held = hold(job, lane, claimedAt);
    const { id, kind, attempts: attempt } = job;
    const startedAt = performance.now();
    events.started?.({ id, lane, kind, attempt, lateSeconds: (job.late_ms + startedAt - claimedAt) / 1000 });
    const outcome = await runOnce({ app, db: lane === 'page' ? paging : app.db }, declared.get(kind)!, held);
    const seconds = (performance.now() - startedAt) / 1000;
    const ended = (is: Outcome['is'] | 'lost') => events.ended?.({ id, lane, kind, attempt, seconds, outcome: is });
    if (outcome) void end(held, outcome).then(ended);
    else {
      holds.remove(held);
      ended('done');
    }
  };

  const loops = new Map<Lane, LaneLoop>();
  for (const lane of laneNames) {
    if (slots[lane] === 0) continue;
    const loop = startLane({
      lane,
      slots: slots[lane],
      db: claims,
      log,
      kinds,
      holding: holds.ids,
      begin: (job, claimedAt) => begin(lane, job, claimedAt),
      giveBack: (claimed, claimedAt) => {
        for (const job of claimed) void end(hold(job, lane, claimedAt), { is: 'released' });
      },
    });
    loops.set(lane, loop);
  }
  const deaf = [...loops].flatMap(([lane, loop]) => [waker.hear(laneChannel(lane), loop.wake), waker.hear(clockMoved, loop.lookAtAll)]);
  const taskLoop = startTasks({ app, db: claims, tasks: [...housekeeping, ...tasks], renewEveryMs });

  const stopJobs = async (graceMs: number) => {
    for (const stopHearing of deaf) stopHearing();
    await Promise.all([...loops.values()].map((loop) => loop.stop()));
    const quiet = async () => {
      for (const loop of loops.values()) await loop.idle();
      await Promise.all(holds.all().map((held) => held.ending));
    };
    await Promise.race([quiet(), sleep(graceMs, undefined, { ref: false })]);
    const left = holds.all();
    if (left.length === 0) return;
    log.warn({ jobs: left.length }, 'jobs did not end in time; they are given back and run again elsewhere');
    for (const held of left) held.abort.abort(new Stopping());
    await Promise.race([Promise.all(left.map((held) => end(held, { is: 'released' }))), sleep(2_000, undefined, { ref: false })]);
  };

  let stopped: Promise<void> | undefined;
  const stop = async (graceMs: number) => {
    await Promise.all([stopJobs(graceMs), taskLoop.stop(graceMs)]);
    holds.stop();
    recorder.stop();
    await Promise.all([claims.end(), outcomes.end(), paging.end()]);
  };

  return {
    snapshot: () => ({
      lanes: Object.fromEntries(laneNames.map((lane) => [lane, { slots: slots[lane], running: loops.get(lane)?.running ?? 0 }])) as Record<
        Lane,
        { slots: number; running: number }
      >,
      held: holds.all().length,
      tasks: taskLoop.running(),
    }),
    stop: ({ graceMs = 10_000 } = {}) => (stopped ??= stop(graceMs)),
  };
}
