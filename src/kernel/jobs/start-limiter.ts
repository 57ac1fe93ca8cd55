/**
 * Lets a few pieces of work start at once. One that has ended, or has run for a while, lets the next one start: short work takes turns, and
 * long work delays the rest only for `passesAfterMs`.
 */
export function makeStartLimiter(most: number, passesAfterMs: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let inside = 0;
  const handOn = () => {
    const next = waiting.shift();
    if (next) next();
    else inside--;
  };
  return async (work) => {
    if (inside < most) inside++;
    else await new Promise<void>((begin) => waiting.push(begin));
    let isInside = true;
    const leave = () => {
      if (isInside) handOn();
      isInside = false;
    };
    const passing = setTimeout(leave, passesAfterMs).unref();
    try {
      return await work();
    } finally {
      clearTimeout(passing);
      leave();
    }
  };
}
