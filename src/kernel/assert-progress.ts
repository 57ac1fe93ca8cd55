/**
 * For every loop whose next step is computed, such as one over time: call it with where the loop stands, once each round. A round that
 * does not stand later than the one before, or one too many, is a mistake of ours; it throws, so that one question fails and not the
 * whole server, which a loop without end would keep from everybody.
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
