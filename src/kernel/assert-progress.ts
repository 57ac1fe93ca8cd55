/**
 * For every loop whose next step is computed, such as a loop over time. The loop calls it once each round with its position. A round that
 * does not advance, or a round beyond the limit, is a bug. It throws, so that one request fails instead of an endless loop that blocks the
 * whole server.
 */
export function assertProgress(loopName: string, maxSteps: number): (place: number) => void {
  let last = Number.NEGATIVE_INFINITY;
  let rounds = 0;
  return (place) => {
    if (!(place > last)) throw new Error(`${loopName} does not move on: ${place} comes after ${last}; tell the makers of Quarterdeck`);
    if (++rounds > maxSteps) throw new Error(`${loopName} does not end after ${maxSteps} steps; tell the makers of Quarterdeck`);
    last = place;
  };
}
