/** Changes between up and down within an hour from which on a monitor counts as flapping. */
export const flapTransitions = 6;
export const flapWindowSeconds = 3_600;

/** For how long a flapping monitor must keep its state before the flapping ends and on-call gets the recovery. */
export const stableSeconds = (intervalSeconds: number): number => 3 * intervalSeconds;
