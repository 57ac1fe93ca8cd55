// Long work in slices: between two of them others have their turn.
import { setImmediate, setTimeout } from 'node:timers/promises';
import { isLoopBusy, resume } from './fairness/index.ts';
import type { Steps } from './steps.ts';

/** A turn for everybody else; what comes after it counts for whom it is done. */
export async function yieldToLoop(): Promise<void> {
  await setImmediate();
  resume();
}

/** Takes one step after the other, with a turn for everybody else between two. */
export async function runYielding<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await yieldToLoop();
  }
}

/** The longest pause. Whoever pauses may hold locks, and a hundred pauses must be over before others give up waiting for one. */
const mostPauseMs = 15;

/** Does one portion of long work. While the loop is busy it pauses afterwards, for as long as that took, and the database is there for others. */
export async function runWithPause<T>(work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const done = await work();
  if (!isLoopBusy()) return done;
  await setTimeout(Math.min(mostPauseMs, performance.now() - began));
  resume();
  return done;
}

/** For steps of one long act that holds a lock: called between two, it gives others a turn; while the loop is busy it pauses for as long as the step took. */
export function makePauses(): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (isLoopBusy()) await setTimeout(Math.min(mostPauseMs, performance.now() - began));
    else await setImmediate();
    resume();
    began = performance.now();
  };
}

/** A rest lasts so many times as long as the work before it, at most. */
const rest = { times: 3, mostMs: 1_000 };

/** Does a piece of background work, and rests afterwards: very much of it takes a quarter of what the machine has, at most. */
export async function runAtQuarterLoad<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const done = await work();
  await setTimeout(Math.min(rest.mostMs, rest.times * (performance.now() - began)), undefined, { signal, ref: false }).catch(() => {});
  return done;
}
