import { uptime } from 'node:os';

/** Every time that a prober knows. Tests bring their own. */
export interface Clock {
  /** Milliseconds that only ever go forward, by which everything is scheduled and measured. */
  now(): number;
  /** Milliseconds since the machine started, asleep or not. Two processes of one start agree on it. */
  sinceBoot(): number;
  /** Unix milliseconds. Jumps when somebody sets the clock, so it decides nothing but where in its interval a monitor has its place. */
  wall(): number;
  /** Calls once, at this `now`; answers how to call it off. */
  at(time: number, act: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sinceBoot: () => uptime() * 1000,
  // Not kernel.now(): a prober has no database to ask. Results carry ages, so nothing that is stored depends on it.
  wall: () => Date.now(),
  at: (time, act) => {
    const timer = setTimeout(act, Math.max(0, time - performance.now()));
    return () => clearTimeout(timer);
  },
};
