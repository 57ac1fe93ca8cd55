/** A monotonic clock. Tests move it. */
export interface Clock {
  now(): number;
  /** Calls `then` once; the returned function cancels it. The timer keeps no process alive. */
  after(ms: number, then: () => void): () => void;
}

export const realClock: Clock = {
  now: () => performance.now(),
  after: (ms, then) => {
    const timer = setTimeout(then, ms).unref();
    return () => clearTimeout(timer);
  },
};
