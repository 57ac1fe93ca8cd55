/** So many changes between up and down within an hour, and a monitor counts as flapping. */
export const flapTransitions = 6;
export const flapWindowSeconds = 3_600;

/** It has calmed down when it kept its state for so long; only then on-call hears that it ended. */
export const stableSeconds = (intervalSeconds: number): number => 3 * intervalSeconds;
