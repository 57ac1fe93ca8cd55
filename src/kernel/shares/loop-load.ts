/** How much the event loop has to do. */
export interface LoopLoad {
  /** Whether it had much to do within the last moments. */
  isBusy(): boolean;
  /** What a piece of work counts that took so long: with its part of the time that nobody is known to have taken. */
  weigh(ms: number): number;
}

/** The loop is busy if it was so for this share of the last moments. */
const busy = { share: 0.45, everyMs: 20 };
/**
 * Whose a request is, is known once its header was read, and whose memory is freed, never: parsing, sockets and garbage are as much again as
 * what is known, and more where chunks are many. All of it is counted with the pieces that are, in proportion; twice at most, since it may
 * also be a stranger's.
 */
const mostWeight = 2;
/** So much of what is found counts at once: one look is short, and what it finds uneven. */
const fresh = 0.2;

export function watchLoop(now = () => performance.now()): LoopLoad {
  let before = performance.eventLoopUtilization();
  let lookedAt = now();
  let isBusy = false;
  let known = 0;
  let weight = 1;
  const look = () => {
    if (now() - lookedAt < busy.everyMs) return;
    const { utilization, active } = performance.eventLoopUtilization(before);
    isBusy = utilization >= busy.share;
    if (known > 1) weight += fresh * (Math.min(mostWeight, Math.max(1, active / known)) - weight);
    known = 0;
    before = performance.eventLoopUtilization();
    lookedAt = now();
  };
  return {
    isBusy: () => {
      look();
      return isBusy;
    },
    weigh: (ms) => {
      known += ms;
      look();
      return ms * weight;
    },
  };
}
