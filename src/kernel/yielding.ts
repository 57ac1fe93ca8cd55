// Long work that yields to the event loop between its steps.
import { setImmediate, setTimeout } from 'node:timers/promises';
import { isLoopBusy, resume } from './fairness/index.ts';
import type { Steps } from './steps.ts';

/** Yields once; the work after it counts for the same context as before. */
export async function yieldToLoop(): Promise<void> {
  await setImmediate();
  resume();
}

/** Runs one step after the other, and yields in between. */
export async function runYielding<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await yieldToLoop();
  }
}

/** The longest pause. The work may hold locks, and a hundred pauses must be over before a lock timeout. */
const maxPauseMs = 15;

/**
 * Runs one batch of long work. While the loop is busy it pauses afterwards, for as long as the batch took, and leaves the database to
 * others.
 */
export async function runWithPause<T>(work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const done = await work();
  if (!isLoopBusy()) return done;
  await setTimeout(Math.min(maxPauseMs, performance.now() - began));
  resume();
  return done;
}

/** Pauses between the steps of one operation. There are fewer than ten steps, so all pauses are over long before a lock timeout. */
const stepPauses = { times: 2, maxMs: 60 };

/**
 * For the steps of one long operation that holds a lock. Called between two steps it yields; while the loop is busy it pauses for twice as
 * long as the step took.
 */
export function makePauses(): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (isLoopBusy()) await setTimeout(Math.min(stepPauses.maxMs, stepPauses.times * (performance.now() - began)));
    else await setImmediate();
    resume();
    began = performance.now();
  };
}

/** A rest lasts `times` as long as the work before it, at most `maxMs`. */
const restLimits = { times: 3, maxMs: 1_000 };

/**
 * Runs a piece of background work, and rests afterwards. Pieces of up to a third of a second take at most a quarter of the machine. A longer
 * piece takes more, because its rest is cut: a database that is slow for a minute must not stop the work for three.
 */
export async function runAtQuarterLoad<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const done = await work();
  await setTimeout(Math.min(restLimits.maxMs, restLimits.times * (performance.now() - began)), undefined, { signal, ref: false }).catch(
    () => {},
  );
  return done;
}
