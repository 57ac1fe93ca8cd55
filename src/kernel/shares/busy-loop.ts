/** The loop is busy if it was so for this share of the last moments. */
const busy = { share: 0.6, everyMs: 20 };

/** Whether the event loop had much to do within the last moments. */
export function watchLoop(now = () => performance.now()): () => boolean {
  let before = performance.eventLoopUtilization();
  let lookedAt = now();
  let isBusy = false;
  return () => {
    if (now() - lookedAt < busy.everyMs) return isBusy;
    isBusy = performance.eventLoopUtilization(before).utilization >= busy.share;
    before = performance.eventLoopUtilization();
    lookedAt = now();
    return isBusy;
  };
}
