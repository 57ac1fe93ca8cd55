// Long computations in steps: pure, so that rules may be written in them. Who runs them decides what happens between two (slices.ts).

/** What is computed in steps, each of which is short. */
export type Steps<T> = Generator<undefined, T, undefined>;

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
