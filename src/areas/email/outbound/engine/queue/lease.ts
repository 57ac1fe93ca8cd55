/** A lease lapses this long after the last renewal. */
export const leaseSeconds = 60;
export const renewIntervalMs = 20_000;
/** Sending must begin at least this long before the lease ends. */
const sendMarginMs = 20_000;

/** Monotonic time before which sending must begin. Counted from the request: the database grants the lease later, so the lease outlasts it. */
export const sendDeadlineAfter = (askedAt: number): number => askedAt + leaseSeconds * 1_000 - sendMarginMs;
