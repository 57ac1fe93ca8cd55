/**
 * For every loop whose next step is computed, such as a loop over time. The loop calls it once each round with its position. A round that
 * does not advance, or a round beyond the limit, is a bug. It throws, so that one request fails instead of an endless loop that blocks the
 * whole server.
 */
export function assertProgress(what: string, most: number): (place: number) => void {
  let last = Number.NEGATIVE_INFINITY;
  let rounds = 0;
  return (place) => {
    if (!(place > last)) throw new Error(`${what} does not move on: ${place} comes after ${last}; tell the makers of Quarterdeck`);
    if (++rounds > most) throw new Error(`${what} does not end after ${most} steps; tell the makers of Quarterdeck`);
    last = place;
  };
}
