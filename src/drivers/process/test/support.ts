import { type Capacity, makeCapacity } from '../engine/capacity.ts';

/** Of a small cluster, whose store holds so much. */
export const capacityOf = (bytes: number): Capacity =>
  makeCapacity(
    () => 64 * 2 ** 20,
    async (last) => ({ bytes: last === undefined ? bytes : 0, last: 1 }),
  );
