import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a slice of synchronous work may hold the event loop before everybody else has a turn. */
const sliceMs = 8;

/**
 * Does something with each of very many, in slices: between two of them whatever else the process has to do is done. Gives the number
 * of slices. Between two items the world may have changed: nothing is locked.
 */
export async function inSlices<T>(items: Iterable<T>, act: (item: T) => void, { ms = sliceMs }: { ms?: number } = {}): Promise<number> {
  let slices = 1;
  let since = performance.now();
  for (const item of items) {
    act(item);
    if (performance.now() - since < ms) continue;
    await nextTurn();
    slices++;
    since = performance.now();
  }
  return slices;
}
