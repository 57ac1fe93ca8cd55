import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../app.ts';
import { DatabaseAway, type Db, type Tx } from '../db.ts';
import { LeaseLost, type ReadyTask, Stopping } from './declare.ts';
import { makeNudge } from './nudge.ts';
import { sentenceOf } from './outcome.ts';
import { claimTasks, ensureTasks, renewTasks, type TaskState, taskDone, taskFailed, taskLeaseSeconds, taskReleased } from './task-store.ts';
import { clockMoved } from './wake.ts';

/** What this process knows of one task. */
interface Mine {
  task: ReadyTask;
  /** Heard a wake that no run has answered yet. */
  woken: boolean;
  /** The last start that was on record when we first failed to answer it; a later one, wherever, has seen what we were woken for. */
  seen: string | null | undefined;
  run: Run | undefined;
}

interface Run {
  lease: string;
  abort: AbortController;
  sureUntil: number;
  renewed: boolean;
  ended: Promise<void>;
}

export interface TaskLoop {
  running(): string[];
  stop(graceMs: number): Promise<void>;
}

const lookEveryMs = 1_000;

export function startTasks({
  app,
  db,
  tasks,
  renewEveryMs,
}: {
  app: App;
  db: Db;
  tasks: readonly ReadyTask[];
  renewEveryMs: number;
}): TaskLoop {
  const { log, waker } = app;
  const { nudge, sleep: rest } = makeNudge();
  const all = tasks.map((task): Mine => ({ task, woken: false, seen: undefined, run: undefined }));
  let stopping = false;
  let known = false;
  let away = false;

  const deaf = all.map((mine) =>
    waker.hear(mine.task.name, () => {
      mine.woken = true;
      mine.seen = undefined;
      nudge();
    }),
  );

  deaf.push(waker.hear(clockMoved, nudge));

  const look = async (): Promise<number> => {
    if (!known) await db.read((tx) => ensureTasks(tx, tasks));
    known = true;
    const idle = all.filter((mine) => !mine.run);
    if (idle.length === 0) return lookEveryMs;
    const woken = new Set(idle.filter((mine) => mine.woken));
    const askedAt = performance.now();
    const asked = idle.map((mine) => ({ name: mine.task.name, everySeconds: mine.task.everySeconds, woken: mine.woken }));
    const states = new Map((await db.read((tx) => claimTasks(tx, asked))).map((state) => [state.name, state]));
    let wait = lookEveryMs;
    for (const mine of idle) {
      const state = states.get(mine.task.name);
      if (!state) continue;
      if (state.lease) begin(mine, state.lease, askedAt);
      else if (woken.has(mine)) noteUnanswered(mine, state);
      else if (state.in_ms > 0) wait = Math.min(wait, state.in_ms);
    }
    return wait;
  };

  const noteUnanswered = (mine: Mine, { started_at }: TaskState) => {
    if (mine.seen === undefined) mine.seen = started_at;
    else if (mine.seen !== started_at) {
      mine.woken = false;
      mine.seen = undefined;
    }
  };

  const begin = (mine: Mine, lease: string, askedAt: number) => {
    const abort = new AbortController();
    mine.woken = false;
    mine.seen = undefined;
    const run: Run = { lease, abort, sureUntil: askedAt + taskLeaseSeconds * 1000, renewed: true, ended: Promise.resolve() };
    mine.run = run;
    if (stopping) abort.abort(new Stopping());
    run.ended = perform(mine.task, run).finally(() => {
      mine.run = undefined;
      nudge();
    });
  };

  const perform = async (task: ReadyTask, run: Run) => {
    const { name, everySeconds, deadlineSeconds } = task;
    const { signal } = run.abort;
    // Past its deadline the lease is not renewed any more: a run that hangs must not keep the task from the other processes.
    const deadline = setTimeout(() => {
      run.renewed = false;
      run.abort.abort(new Error(`it did not end within its deadline of ${deadlineSeconds} s`));
    }, deadlineSeconds * 1000);
    let failure: unknown;
    try {
      signal.throwIfAborted();
      await task.run({ app, signal, log: log.child({ task: name }) }, undefined);
      if (signal.aborted) failure = signal.reason;
    } catch (error) {
      failure = signal.aborted ? signal.reason : error;
    } finally {
      clearTimeout(deadline);
    }
    if (failure && !(failure instanceof Stopping)) log.warn({ err: failure, task: name }, 'a task failed');
    await record(name, run, (tx) => {
      if (failure instanceof Stopping) return taskReleased(tx, name, run.lease);
      return failure ? taskFailed(tx, name, run.lease, everySeconds, sentenceOf(failure)) : taskDone(tx, name, run.lease, everySeconds);
    });
  };

  const record = async (name: string, run: Run, write: (tx: Tx) => Promise<boolean>) => {
    // Until its lease has lapsed nobody else runs it; after that the next run speaks for it.
    do {
      try {
        if (!(await db.read(write))) log.warn({ task: name }, 'a task was lost while it ran: its lease lapsed');
        return;
      } catch (error) {
        if (!(error instanceof DatabaseAway)) return log.error({ err: error, task: name }, 'the outcome of a task cannot be recorded');
        await sleep(250);
      }
    } while (performance.now() < run.sureUntil && !closed);
  };

  const renewal = setInterval(() => {
    const held = all.flatMap((mine) => (mine.run?.renewed ? [{ name: mine.task.name, lease: mine.run.lease, run: mine.run }] : []));
    const sentAt = performance.now();
    db.read((tx) => renewTasks(tx, held)).then(
      (renewed) => {
        for (const { name, run } of held) {
          if (renewed.has(name)) run.sureUntil = sentAt + taskLeaseSeconds * 1000;
          else run.abort.abort(new LeaseLost('the lease on this task is lost'));
        }
      },
      () => {
        for (const { run } of held)
          if (sentAt > run.sureUntil) run.abort.abort(new LeaseLost('the lease on this task could not be renewed in time'));
      },
    );
  }, renewEveryMs);
  renewal.unref();

  const loop = async () => {
    while (!stopping) {
      let ms = lookEveryMs;
      try {
        ms = await look();
        away = false;
      } catch (error) {
        if (!away) log.warn({ err: error }, 'tasks cannot be claimed; trying again every second');
        away = true;
      }
      if (!stopping) await rest(ms);
    }
  };

  let closed = false;
  const ended = loop();
  const runs = () => all.flatMap((mine) => (mine.run ? [mine.run] : []));
  return {
    running: () => all.filter((mine) => mine.run).map((mine) => mine.task.name),
    stop: async (graceMs) => {
      stopping = true;
      for (const stopHearing of deaf) stopHearing();
      nudge();
      await ended;
      const over = Promise.all(runs().map((run) => run.ended));
      await Promise.race([over, sleep(graceMs, undefined, { ref: false })]);
      for (const { abort } of runs()) abort.abort(new Stopping());
      await Promise.race([over, sleep(1_000, undefined, { ref: false })]);
      for (const mine of all) if (mine.run) await db.read((tx) => taskReleased(tx, mine.task.name, mine.run!.lease)).catch(() => {});
      closed = true;
      clearInterval(renewal);
    },
  };
}
