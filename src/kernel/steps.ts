// Long computations in steps: pure, so that rules can use them. The runner decides what happens between two steps (yielding.ts).

/** A computation in short steps. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Calls `act` for each item of a list; a step ends after `each` items. */
export function* forEachStep<T>(items: Iterable<T>, act: (item: T) => unknown, itemsPerStep = 500): Steps<void> {
  let n = 0;
  for (const item of items) {
    act(item);
    if (++n % itemsPerStep === 0) yield;
  }
}

export function* mapInSteps<T, R>(items: Iterable<T>, make: (item: T) => R): Steps<R[]> {
  const all: R[] = [];
  yield* forEachStep(items, (item) => all.push(make(item)));
  return all;
}

/** Appends items to a list. `list.push(...items)` makes each an argument, and fails with a RangeError beyond some 100,000. */
export function append<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}
