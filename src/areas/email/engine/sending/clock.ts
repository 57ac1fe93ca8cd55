/** Durations, from an arbitrary beginning. Tests move it. */
export interface Clock {
  now(): number;
  /** Calls once, later; the answer calls it off. Keeps no process alive. */
  after(ms: number, then: () => void): () => void;
}

export const realClock: Clock = {
  now: () => performance.now(),
  after: (ms, then) => {
    const timer = setTimeout(then, ms).unref();
    return () => clearTimeout(timer);
  },
};
