import type { Clock } from '../clock.ts';

const tickMs = 50;
/** Event-loop delay from which on a timeout may be the prober's fault. */
export const stallMs = 50;
const keptMs = 60_000;

/** How much of the recent past the event loop was stalled. */
export interface LoopWatch {
  /** Milliseconds lost to stalls since then. */
  lostSince(time: number): number;
  stop(): void;
}

export function watchLoop(clock: Clock): LoopWatch {
  const stalls: { until: number; ms: number }[] = [];
  let cancel = () => {};
  let expected = clock.now() + tickMs;
  const look = () => {
    const now = clock.now();
    if (now - expected > stallMs) stalls.push({ until: now, ms: now - expected });
    while (stalls.length > 0 && stalls[0]!.until < now - keptMs) stalls.shift();
    expected = now + tickMs;
    cancel = clock.at(expected, look);
  };
  cancel = clock.at(expected, look);
  return {
    lostSince(time) {
      const now = clock.now();
      // A stall that is still going on, seen by code that runs before the timer.
      const current = now - expected > stallMs ? now - Math.max(expected, time) : 0;
      return stalls.reduce((sum, { until, ms }) => sum + Math.max(0, Math.min(ms, until - time)), current);
    },
    stop: () => cancel(),
  };
}
