/** Upper bounds of the latency histogram, in seconds; what is slower counts in one more bucket. Part of stored rows: append only by a migration. */
export const latencyBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

export const emptyHistogram = (): number[] => new Array<number>(latencyBounds.length + 1).fill(0);

/** The bucket that a check of `ms` milliseconds falls into. */
export function latencyBucket(ms: number): number {
  const index = latencyBounds.findIndex((bound) => ms <= bound * 1000);
  return index < 0 ? latencyBounds.length : index;
}
