import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../app.ts';
import type { Slots } from '../db/index.ts';
import { type Lane, lanes as laneNames, type ReadyJob, type ReadyTask, Stopping } from './declare.ts';
import { housekeeping } from './housekeeping.ts';
import { type LaneLoop, startLane } from './lane.ts';
import { type LeasedJob, type LeasedJobs, makeLeasedJobs } from './leased-jobs.ts';
import type { Outcome } from './outcome.ts';
import { makeRecorder, type Recorder } from './recorder.ts';
import { runOnce } from './run.ts';
import type { ClaimedJob } from './store.ts';
import { startTasks, type TaskLoop } from './tasks.ts';
import { clockMoved, laneChannel } from './wake.ts';
import { openConnections, type WorkerConnections } from './worker-connections.ts';

export interface WorkerEvents {
  /** `lateSeconds`: from the due time until the handler started. */
  started?(job: { id: number; lane: Lane; kind: string; attempt: number; lateSeconds: number }): void;
  ended?(job: { id: number; lane: Lane; kind: string; attempt: number; seconds: number; outcome: Outcome['is'] | 'lost' }): void;
}

export interface WorkerOptions {
  app: App;
  jobs: readonly ReadyJob[];
  tasks?: readonly ReadyTask[];
  /** The number of concurrent jobs by lane in this process. Zero leaves a lane to other processes. */
  lanes?: Partial<Record<Lane, number>>;
  events?: WorkerEvents;
  renewEveryMs?: number;
}

export interface Worker {
  snapshot(): {
    lanes: Record<Lane, { slots: number; running: number; runningOf: ReadonlyMap<string, number> }>;
    held: number;
    tasks: string[];
  };
  /** Stops claiming. Running jobs have `graceMs` to end; the rest is released to other workers at once. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

export const defaultSlots: Record<Lane, number> = { page: 24, mail: 44, webhook: 44, default: 44 };

/** Three quarters, so that an organization whose jobs all wait for one slow server leaves a quarter to the others. */
const maxSlotsPerOrg = (slots: number) => Math.max(1, Math.floor((slots * 3) / 4));

interface WorkerState {
  app: App;
  declared: Map<string, ReadyJob>;
  /** By kind. */
  leaseSeconds: Map<string, number>;
  slots: Record<Lane, number>;
  events: WorkerEvents;
  connections: WorkerConnections;
  leased: LeasedJobs;
  recorder: Recorder;
  loops: Map<Lane, LaneLoop>;
}

export function startWorker(options: WorkerOptions): Worker {
  const { app, tasks = [], renewEveryMs = 10_000 } = options;
  const worker = makeState(options, renewEveryMs);
  for (const lane of laneNames) if (worker.slots[lane] !== 0) worker.loops.set(lane, startLaneOf(worker, lane));
  const stopListening = listenForWakes(worker);
  const slots: Slots = { take: ({ lane, kind, org }) => worker.loops.get(lane as Lane)?.takeSlot(kind, org) };
  const stopLending = [app.db, worker.connections.paging].map((db) => db.lend(slots));
  const taskLoop = startTasks({ app, db: worker.connections.claims, tasks: [...housekeeping, ...tasks], renewEveryMs });

  const stop = async (graceMs: number) => {
    stopListening();
    for (const takeBack of stopLending) takeBack();
    await Promise.all([stopJobs(worker, graceMs), taskLoop.stop(graceMs)]);
    worker.leased.stop();
    worker.recorder.stop();
    await worker.connections.end();
  };
  let stopped: Promise<void> | undefined;
  return {
    snapshot: () => snapshotOf(worker, taskLoop),
    stop: ({ graceMs = 10_000 } = {}) => (stopped ??= stop(graceMs)),
  };
}

function makeState({ app, jobs, lanes = {}, events = {} }: WorkerOptions, renewEveryMs: number): WorkerState {
  const declared = new Map(jobs.map((job) => [job.kind, job]));
  if (declared.size !== jobs.length)
    throw new Error(`two jobs are declared with one kind: ${jobs.map((j) => j.kind).filter((kind, i, all) => all.indexOf(kind) !== i)}`);
  const connections = openConnections(app);
  return {
    app,
    declared,
    leaseSeconds: new Map(jobs.map((job) => [job.kind, job.leaseSeconds])),
    slots: { ...defaultSlots, ...lanes },
    events,
    connections,
    leased: makeLeasedJobs({ db: connections.claims, log: app.log, renewEveryMs }),
    recorder: makeRecorder({ db: connections.outcomes, log: app.log }),
    loops: new Map(),
  };
}

const startLaneOf = (worker: WorkerState, lane: Lane): LaneLoop =>
  startLane({
    lane,
    slots: worker.slots[lane],
    perOrg: maxSlotsPerOrg(worker.slots[lane]),
    coalesceMs: lane === 'page' ? 10 : 25,
    db: worker.connections.claims,
    log: worker.app.log,
    kinds: worker.leaseSeconds,
    leasedHere: worker.leased.ids,
    // Jobs of the default lane send nothing outside, so a restore hold does not stop them.
    isHeld: () => lane !== 'default' && worker.app.hold.isHeld,
    start: (job, claimedAt) => runJob(worker, lane, job, claimedAt),
    release: (claimed, claimedAt) => {
      for (const job of claimed) void endJob(worker, trackLease(worker, job, lane, claimedAt), { is: 'released' });
    },
  });

function listenForWakes({ app: { waker }, loops }: WorkerState): () => void {
  const stops = [...loops].flatMap(([lane, loop]) => [
    waker.subscribe(laneChannel(lane), loop.wake),
    waker.subscribe(clockMoved, loop.pollAll),
  ]);
  return () => {
    for (const stop of stops) stop();
  };
}

/** Settles when the slot is free again: the outcome is recorded while the next job of the lane runs. */
async function runJob(worker: WorkerState, lane: Lane, job: ClaimedJob, claimedAt: number): Promise<void> {
  const { app, events, connections } = worker;
  const leased = trackLease(worker, job, lane, claimedAt);
  const { id, kind, attempts: attempt } = job;
  const startedAt = performance.now();
  events.started?.({ id, lane, kind, attempt, lateSeconds: (job.late_ms + startedAt - claimedAt) / 1000 });
  const db = lane === 'page' ? connections.paging : app.db;
  const outcome = await runOnce({ app, db }, worker.declared.get(kind)!, leased);
  const seconds = (performance.now() - startedAt) / 1000;
  const reportEnded = (is: Outcome['is'] | 'lost') => events.ended?.({ id, lane, kind, attempt, seconds, outcome: is });
  if (outcome) void endJob(worker, leased, outcome).then(reportEnded);
  else {
    worker.leased.remove(leased);
    reportEnded('done');
  }
}

function trackLease(worker: WorkerState, job: ClaimedJob, lane: string, claimedAt: number): LeasedJob {
  const leaseSeconds = worker.leaseSeconds.get(job.kind)!;
  const validUntil = claimedAt + leaseSeconds * 1000;
  const leased: LeasedJob = {
    job,
    lane,
    leaseSeconds,
    abort: new AbortController(),
    validUntil,
    isLost: false,
    isEnding: false,
  };
  worker.leased.add(leased);
  return leased;
}

/** A handler's end and the worker's stop may both want to end a job: the first one counts. */
function endJob(worker: WorkerState, leased: LeasedJob, outcome: Outcome): Promise<Outcome['is'] | 'lost'> {
  leased.ending ??= recordOutcome(worker, leased, outcome);
  return leased.ending;
}

async function recordOutcome(worker: WorkerState, leased: LeasedJob, outcome: Outcome): Promise<Outcome['is'] | 'lost'> {
  leased.isEnding = true;
  const recorded = leased.isLost ? 'lost' : await worker.recorder.record(leased, outcome);
  if (recorded === 'lost') {
    worker.leased.lose(leased);
    return 'lost';
  }
  worker.leased.remove(leased);
  if (outcome.is === 'released' || recorded === 'again') worker.app.waker.wake(laneChannel(leased.lane));
  else if (outcome.is === 'retry') worker.loops.get(leased.lane as Lane)?.wake();
  return outcome.is;
}

/** Running jobs have their grace to end; the rest is released, and notified by its signal. */
async function stopJobs(worker: WorkerState, graceMs: number): Promise<void> {
  await Promise.all([...worker.loops.values()].map((loop) => loop.stop()));
  await Promise.race([allJobsEnded(worker), sleep(graceMs, undefined, { ref: false })]);
  const left = worker.leased.all();
  if (left.length === 0) return;
  worker.app.log.warn({ jobs: left.length }, 'jobs did not end in time; they are given back and run again elsewhere');
  for (const leased of left) leased.abort.abort(new Stopping());
  const released = Promise.all(left.map((leased) => endJob(worker, leased, { is: 'released' })));
  await Promise.race([released, sleep(2_000, undefined, { ref: false })]);
}

async function allJobsEnded({ loops, leased }: WorkerState): Promise<void> {
  for (const loop of loops.values()) await loop.idle();
  await Promise.all(leased.all().map((job) => job.ending));
}

function snapshotOf({ slots, loops, leased }: WorkerState, taskLoop: TaskLoop): ReturnType<Worker['snapshot']> {
  const lanes = laneNames.map((lane) => [
    lane,
    { slots: slots[lane], running: loops.get(lane)?.running ?? 0, runningOf: loops.get(lane)?.runningByOrg ?? new Map() },
  ]);
  return { lanes: Object.fromEntries(lanes), held: leased.all().length, tasks: taskLoop.running() };
}
