/**
 * Lets a few pieces of work start at once. One that has ended, or has run for a while, lets the next one start: short work takes turns, and
 * long work delays the rest only for `passesAfterMs`.
 */
export function makeStartLimiter(maxStarting: number, passesAfterMs: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let starting = 0;
  const admitNext = () => {
    const next = waiting.shift();
    if (next) next();
    else starting--;
  };
  return async (work) => {
    if (starting < maxStarting) starting++;
    else await new Promise<void>((begin) => waiting.push(begin));
    let isStarting = true;
    const leave = () => {
      if (isStarting) admitNext();
      isStarting = false;
    };
    const timer = setTimeout(leave, passesAfterMs).unref();
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      leave();
    }
  };
}
