import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../app.ts';
import type { Db } from '../db/index.ts';
import { type ReadyTask, Stopping } from './declare.ts';
import { type InterruptibleSleep, makeInterruptibleSleep } from './interruptible-sleep.ts';
import { type LeasedTask, leasedTask, releaseTask, renewLeases, runTask, type TaskEnvironment } from './leased-task.ts';
import { makeStartLimiter } from './start-limiter.ts';
import { claimTasks, ensureTasks, type TaskState } from './task-store.ts';
import { clockMoved } from './wake.ts';

export interface TaskLoop {
  running(): string[];
  stop(graceMs: number): Promise<void>;
}

/** The state of one task in this process. */
interface KnownTask {
  task: ReadyTask;
  /** A wake that no run has answered yet. */
  woken: boolean;
  /** The last recorded start when this process first failed to answer the wake. Any later start, in any process, answers it. */
  seenStart: string | null | undefined;
  run: LeasedTask | undefined;
  /** Settles when that run has ended and its outcome is recorded. */
  ended: Promise<void>;
}

interface TaskLoopState extends TaskEnvironment {
  known: KnownTask[];
  sleeper: InterruptibleSleep;
  startLimited: ReturnType<typeof makeStartLimiter>;
  /** Every task has its row in the database. */
  hasRows: boolean;
  /** The last poll failed, and the log says so already. */
  isFailing: boolean;
  isStopping: boolean;
}

const pollMs = 1_000;
/** At a start all tasks are due: together they would take every connection, and some would fail for want of one. */
const maxStarting = 4;
const startingMs = 1_000;

export interface TasksOptions {
  app: App;
  db: Db;
  tasks: readonly ReadyTask[];
  renewEveryMs: number;
}

/** Runs each task by the clock and when it is woken, unless another process holds its lease. */
export function startTasks({ app, db, tasks: declared, renewEveryMs }: TasksOptions): TaskLoop {
  const tasks: TaskLoopState = {
    app,
    db,
    known: declared.map((task) => ({ task, woken: false, seenStart: undefined, run: undefined, ended: Promise.resolve() })),
    sleeper: makeInterruptibleSleep(),
    startLimited: makeStartLimiter(maxStarting, startingMs),
    hasRows: false,
    isFailing: false,
    isStopping: false,
    isClosed: false,
  };
  const stopListening = listenForWakes(tasks);
  const renewal = setInterval(() => void renewLeases(db, leasedHere(tasks)), renewEveryMs).unref();
  const ended = pollUntilStopped(tasks);
  return {
    running: () => leasedHere(tasks).map((leased) => leased.task.name),
    stop: async (graceMs) => {
      tasks.isStopping = true;
      stopListening();
      tasks.sleeper.wake();
      await ended;
      await endRuns(tasks, graceMs);
      tasks.isClosed = true;
      clearInterval(renewal);
    },
  };
}

const leasedHere = ({ known }: TaskLoopState): LeasedTask[] => known.flatMap(({ run }) => run ?? []);

function listenForWakes({ app: { waker }, known, sleeper }: TaskLoopState): () => void {
  const wakes = known.map((mine) =>
    waker.subscribe(mine.task.name, () => {
      mine.woken = true;
      mine.seenStart = undefined;
      sleeper.wake();
    }),
  );
  const pollAgain = () => {
    for (const mine of known) mine.woken ||= mine.run !== undefined; // the run compared against a time that is no longer valid
    sleeper.wake();
  };
  const stops = [...wakes, waker.subscribe(clockMoved, pollAgain)];
  return () => {
    for (const stop of stops) stop();
  };
}

async function pollUntilStopped(tasks: TaskLoopState): Promise<void> {
  while (!tasks.isStopping) {
    let ms = pollMs;
    try {
      ms = await claimAndStart(tasks);
      tasks.isFailing = false;
    } catch (error) {
      if (!tasks.isFailing) tasks.app.log.warn({ err: error }, 'tasks cannot be claimed; trying again every second');
      tasks.isFailing = true;
    }
    if (!tasks.isStopping) await tasks.sleeper.sleep(ms);
  }
}

/** Returns how long to sleep until the next poll. */
async function claimAndStart(tasks: TaskLoopState): Promise<number> {
  await ensureRows(tasks);
  const idle = tasks.known.filter((mine) => !mine.run);
  if (idle.length === 0) return pollMs;
  const woken = new Set(idle.filter((mine) => mine.woken)); // a wake during the query is for the next poll
  const askedAt = performance.now();
  const states = await claimDue(tasks.db, idle);
  let wait = pollMs;
  for (const mine of idle) {
    const state = states.get(mine.task.name);
    if (!state) continue;
    if (state.lease) startRun(tasks, mine, leasedTask(mine.task, state.lease, askedAt));
    else if (woken.has(mine)) onLeasedElsewhere(mine, state);
    else if (state.in_ms > 0) wait = Math.min(wait, state.in_ms);
  }
  return wait;
}

async function ensureRows(tasks: TaskLoopState): Promise<void> {
  if (tasks.hasRows) return;
  await tasks.db.read((tx) =>
    ensureTasks(
      tx,
      tasks.known.map(({ task }) => task),
    ),
  );
  tasks.hasRows = true;
}

async function claimDue(db: Db, idle: readonly KnownTask[]): Promise<Map<string, TaskState>> {
  const asked = idle.map(({ task, woken }) => ({ name: task.name, everySeconds: task.everySeconds, woken }));
  const states = await db.read((tx) => claimTasks(tx, asked));
  return new Map(states.map((state) => [state.name, state]));
}

function startRun(tasks: TaskLoopState, mine: KnownTask, leased: LeasedTask): void {
  mine.woken = false;
  mine.seenStart = undefined;
  mine.run = leased;
  if (tasks.isStopping) leased.abort.abort(new Stopping());
  mine.ended = tasks
    .startLimited(() => runTask(tasks, leased))
    .finally(() => {
      mine.run = undefined;
      if (mine.woken || mine.task.everySeconds * 1000 < pollMs) tasks.sleeper.wake(); // otherwise the next poll is soon enough
    });
}

/**
 * Woken, but another process runs it now. That run may have started before the change behind the wake, so only a later start answers it.
 */
function onLeasedElsewhere(mine: KnownTask, { started_at }: TaskState): void {
  if (mine.seenStart === undefined) mine.seenStart = started_at;
  else if (mine.seenStart !== started_at) {
    mine.woken = false;
    mine.seenStart = undefined;
  }
}

/** Runs get `graceMs` to end, then a second to react to their signal; the rest is released to other processes. */
async function endRuns(tasks: TaskLoopState, graceMs: number): Promise<void> {
  const over = Promise.all(tasks.known.map((mine) => mine.ended));
  await Promise.race([over, sleep(graceMs, undefined, { ref: false })]);
  for (const { abort } of leasedHere(tasks)) abort.abort(new Stopping());
  await Promise.race([over, sleep(1_000, undefined, { ref: false })]);
  for (const { run } of tasks.known) if (run) await releaseTask(tasks.db, run);
}
