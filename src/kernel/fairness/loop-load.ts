/** The utilization of the event loop. */
export interface LoopLoad {
  /** Whether utilization was high in the last sampling interval. */
  isBusy(): boolean;
  /** The charge for work that took this long, with its part of the unattributed time. */
  weigh(ms: number): number;
}

/** The loop is busy above this utilization of the last interval. */
const busy = { share: 0.45, everyMs: 20 };
/**
 * Parsing, socket handling and garbage collection cannot be attributed to a tenant, and cost about as much as the attributed work. They are
 * charged in proportion to it, at most once more, since an anonymous caller may have caused them.
 */
const mostWeight = 2;
/** The smoothing factor of the weight: one sampling interval is short and noisy. */
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
