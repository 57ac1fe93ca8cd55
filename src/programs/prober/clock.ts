import { uptime } from 'node:os';

/** All clocks of a prober. Tests inject their own. */
export interface Clock {
  /** Milliseconds that only ever go forward, by which everything is scheduled and measured. */
  now(): number;
  /** Milliseconds since the machine booted, asleep or not. All processes of one boot agree on it. */
  sinceBoot(): number;
  /** Unix milliseconds. Jumps when the clock is set, so it only decides a monitor's slot within its interval. */
  wall(): number;
  /** Calls `act` once at this `now`; returns a function that cancels it. */
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
