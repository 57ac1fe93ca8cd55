// Long work in slices: between two of them others have their turn.
import { setImmediate, setTimeout } from 'node:timers/promises';

/** What is computed in steps, each of which is short. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Takes one step after the other, with a turn for everybody else between two. */
export async function inSlices<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await setImmediate();
  }
}

/** Does something with each item of a list; a step ends after so many. */
export function* forEachStep<T>(items: Iterable<T>, act: (item: T) => unknown, each = 500): Steps<void> {
  let n = 0;
  for (const item of items) {
    act(item);
    if (++n % each === 0) yield;
  }
}

export function* mapInSteps<T, R>(items: Iterable<T>, make: (item: T) => R): Steps<R[]> {
  const all: R[] = [];
  yield* forEachStep(items, (item) => all.push(make(item)));
  return all;
}

/** The longest rest. */
const mostRestMs = 1_000;

/** Does a piece of background work, and rests for as long as it took: very much of it takes half of what the machine has, at most. */
export async function withRest<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const done = await work();
  await setTimeout(Math.min(mostRestMs, performance.now() - began), undefined, { signal, ref: false }).catch(() => {});
  return done;
}
