import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../app.ts';
import type { Db } from '../db/index.ts';
import { type ReadyTask, Stopping } from './declare.ts';
import { type InterruptibleSleep, makeInterruptibleSleep } from './interruptible-sleep.ts';
import { type LeasedTask, leasedTask, releaseTask, renewLeases, runTask, type TaskSite } from './leased-task.ts';
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
  seen: string | null | undefined;
  run: LeasedTask | undefined;
  /** Settles when that run has ended and its outcome is recorded. */
  ended: Promise<void>;
}

interface Tasks extends TaskSite {
  known: KnownTask[];
  rest: InterruptibleSleep;
  begin: ReturnType<typeof makeStartLimiter>;
  /** Every task has its row in the database. */
  ensured: boolean;
  /** The last poll failed, and the log says so already. */
  away: boolean;
  stopping: boolean;
}

const lookEveryMs = 1_000;
/** At a start all tasks are due: together they would take every connection, and some would fail for want of one. */
const mostBeginning = 4;
const beginningMs = 1_000;

export interface TasksOptions {
  app: App;
  db: Db;
  tasks: readonly ReadyTask[];
  renewEveryMs: number;
}

/** Runs each task by the clock and when it is woken, unless another process holds its lease. */
export function startTasks({ app, db, tasks: declared, renewEveryMs }: TasksOptions): TaskLoop {
  const tasks: Tasks = {
    app,
    db,
    known: declared.map((task) => ({ task, woken: false, seen: undefined, run: undefined, ended: Promise.resolve() })),
    rest: makeInterruptibleSleep(),
    begin: makeStartLimiter(mostBeginning, beginningMs),
    ensured: false,
    away: false,
    stopping: false,
    closed: false,
  };
  const stopHearing = hearWakes(tasks);
  const renewal = setInterval(() => void renewLeases(db, leasedHere(tasks)), renewEveryMs).unref();
  const ended = lookUntilStopped(tasks);
  return {
    running: () => leasedHere(tasks).map((leased) => leased.task.name),
    stop: async (graceMs) => {
      tasks.stopping = true;
      stopHearing();
      tasks.rest.wake();
      await ended;
      await endRuns(tasks, graceMs);
      tasks.closed = true;
      clearInterval(renewal);
    },
  };
}

const leasedHere = ({ known }: Tasks): LeasedTask[] => known.flatMap(({ run }) => run ?? []);

function hearWakes({ app: { waker }, known, rest }: Tasks): () => void {
  const wakes = known.map((mine) =>
    waker.hear(mine.task.name, () => {
      mine.woken = true;
      mine.seen = undefined;
      rest.wake();
    }),
  );
  const lookAgain = () => {
    for (const mine of known) mine.woken ||= mine.run !== undefined; // the run compared against a time that is no longer valid
    rest.wake();
  };
  const stops = [...wakes, waker.hear(clockMoved, lookAgain)];
  return () => {
    for (const stop of stops) stop();
  };
}

async function lookUntilStopped(tasks: Tasks): Promise<void> {
  while (!tasks.stopping) {
    let ms = lookEveryMs;
    try {
      ms = await claimAndBegin(tasks);
      tasks.away = false;
    } catch (error) {
      if (!tasks.away) tasks.app.log.warn({ err: error }, 'tasks cannot be claimed; trying again every second');
      tasks.away = true;
    }
    if (!tasks.stopping) await tasks.rest.sleep(ms);
  }
}

/** Returns how long to sleep until the next poll. */
async function claimAndBegin(tasks: Tasks): Promise<number> {
  await ensureRows(tasks);
  const idle = tasks.known.filter((mine) => !mine.run);
  if (idle.length === 0) return lookEveryMs;
  const woken = new Set(idle.filter((mine) => mine.woken)); // a wake during the query is for the next poll
  const askedAt = performance.now();
  const states = await claimDue(tasks.db, idle);
  let wait = lookEveryMs;
  for (const mine of idle) {
    const state = states.get(mine.task.name);
    if (!state) continue;
    if (state.lease) beginRun(tasks, mine, leasedTask(mine.task, state.lease, askedAt));
    else if (woken.has(mine)) noteUnanswered(mine, state);
    else if (state.in_ms > 0) wait = Math.min(wait, state.in_ms);
  }
  return wait;
}

async function ensureRows(tasks: Tasks): Promise<void> {
  if (tasks.ensured) return;
  await tasks.db.read((tx) =>
    ensureTasks(
      tx,
      tasks.known.map(({ task }) => task),
    ),
  );
  tasks.ensured = true;
}

async function claimDue(db: Db, idle: readonly KnownTask[]): Promise<Map<string, TaskState>> {
  const asked = idle.map(({ task, woken }) => ({ name: task.name, everySeconds: task.everySeconds, woken }));
  const states = await db.read((tx) => claimTasks(tx, asked));
  return new Map(states.map((state) => [state.name, state]));
}

function beginRun(tasks: Tasks, mine: KnownTask, leased: LeasedTask): void {
  mine.woken = false;
  mine.seen = undefined;
  mine.run = leased;
  if (tasks.stopping) leased.abort.abort(new Stopping());
  mine.ended = tasks
    .begin(() => runTask(tasks, leased))
    .finally(() => {
      mine.run = undefined;
      if (mine.woken || mine.task.everySeconds * 1000 < lookEveryMs) tasks.rest.wake(); // otherwise the next poll is soon enough
    });
}

/**
 * Woken, but another process runs it now. That run may have started before the change behind the wake, so only a later start answers it.
 */
function noteUnanswered(mine: KnownTask, { started_at }: TaskState): void {
  if (mine.seen === undefined) mine.seen = started_at;
  else if (mine.seen !== started_at) {
    mine.woken = false;
    mine.seen = undefined;
  }
}

/** Runs get `graceMs` to end, then a second to react to their signal; the rest is released to other processes. */
async function endRuns(tasks: Tasks, graceMs: number): Promise<void> {
  const over = Promise.all(tasks.known.map((mine) => mine.ended));
  await Promise.race([over, sleep(graceMs, undefined, { ref: false })]);
  for (const { abort } of leasedHere(tasks)) abort.abort(new Stopping());
  await Promise.race([over, sleep(1_000, undefined, { ref: false })]);
  for (const { run } of tasks.known) if (run) await releaseTask(tasks.db, run);
}
