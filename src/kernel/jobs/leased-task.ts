import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../app.ts';
import { DatabaseUnavailable, type Db, type Tx } from '../db/index.ts';
import { runFor, systemContext } from '../fairness/index.ts';
import { LeaseLost, type ReadyTask, Stopping } from './declare.ts';
import { sentenceOf } from './outcome.ts';
import { renewTasks, taskDone, taskFailed, taskLeaseSeconds, taskReleased } from './task-store.ts';

/** A task under a lease of this process, from its claim until its outcome is recorded. */
export interface LeasedTask {
  task: ReadyTask;
  lease: string;
  abort: AbortController;
  /** By this process's monotonic clock: without a renewal until then, another process may run the task. */
  validUntil: number;
  /** Past its deadline the lease is no longer renewed: a hanging run must not keep the task from the other processes. */
  isRenewed: boolean;
}

/** The environment of task runs. */
export interface TaskEnvironment {
  app: App;
  db: Db;
  /** The process no longer waits for outcomes to be recorded. */
  isClosed: boolean;
}

export const leasedTask = (task: ReadyTask, lease: string, claimedAt: number): LeasedTask => ({
  task,
  lease,
  abort: new AbortController(),
  validUntil: claimedAt + taskLeaseSeconds * 1000,
  isRenewed: true,
});

/** Runs it once and records the outcome. */
export async function runTask(env: TaskEnvironment, leased: LeasedTask): Promise<void> {
  const { name } = leased.task;
  const failure = await failureOfRun(env, leased);
  if (failure && !(failure instanceof Stopping)) env.app.log.warn({ err: failure, task: name }, 'a task failed');
  await recordOutcome(env, leased, failure);
}

/** Once the signal is aborted, its reason is the failure, whatever the run throws, and even if it ends well. */
async function failureOfRun({ app }: TaskEnvironment, leased: LeasedTask): Promise<unknown> {
  const { name, deadlineSeconds } = leased.task;
  const { signal } = leased.abort;
  const deadline = setTimeout(() => {
    leased.isRenewed = false;
    leased.abort.abort(new Error(`it did not end within its deadline of ${deadlineSeconds} s`));
  }, deadlineSeconds * 1000);
  try {
    signal.throwIfAborted();
    await runFor(
      { ...systemContext, operation: name },
      () => leased.task.run({ app, signal, log: app.log.child({ task: name }) }, undefined),
      app.watch,
    );
    return signal.aborted ? signal.reason : undefined;
  } catch (error) {
    return signal.aborted ? signal.reason : error;
  } finally {
    clearTimeout(deadline);
  }
}

/**
 * Retried until the database takes it or the lease has lapsed. Until then no other process runs the task; later the next run records its
 * own outcome.
 */
async function recordOutcome(env: TaskEnvironment, leased: LeasedTask, failure: unknown): Promise<void> {
  const { log } = env.app;
  const { name } = leased.task;
  do {
    try {
      if (!(await env.db.read((tx) => writeOutcome(tx, leased, failure))))
        log.warn({ task: name }, 'a task was lost while it ran: its lease lapsed');
      return;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) return log.error({ err: error, task: name }, 'the outcome of a task cannot be recorded');
      await sleep(250);
    }
  } while (performance.now() < leased.validUntil && !env.isClosed);
}

function writeOutcome(tx: Tx, { task: { name, everySeconds }, lease }: LeasedTask, failure: unknown): Promise<boolean> {
  if (failure instanceof Stopping) return taskReleased(tx, name, lease);
  return failure ? taskFailed(tx, name, lease, everySeconds, sentenceOf(failure)) : taskDone(tx, name, lease, everySeconds);
}

/** One statement renews them all; a run that lost its task is notified through the task's signal. */
export async function renewLeases(db: Db, tasks: readonly LeasedTask[]): Promise<void> {
  const wanted = tasks.filter((leased) => leased.isRenewed);
  const sentAt = performance.now();
  try {
    const renewed = await db.read((tx) =>
      renewTasks(
        tx,
        wanted.map(({ task, lease }) => ({ name: task.name, lease })),
      ),
    );
    for (const leased of wanted) {
      if (renewed.has(leased.task.name)) leased.validUntil = sentAt + taskLeaseSeconds * 1000;
      else leased.abort.abort(new LeaseLost('the lease on this task is lost'));
    }
  } catch {
    for (const { validUntil, abort } of wanted)
      if (sentAt > validUntil) abort.abort(new LeaseLost('the lease on this task could not be renewed in time'));
  }
}

/** Releases a run that did not end in time: another process starts it at once. If the release fails, the lease lapses by itself. */
export const releaseTask = (db: Db, { task, lease }: LeasedTask): Promise<unknown> =>
  db.read((tx) => taskReleased(tx, task.name, lease)).catch(() => {});
