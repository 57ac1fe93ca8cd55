/** How long a recipient stays this process's when it says nothing more of it. */
export const leaseSeconds = 60;
export const renewIntervalMs = 20_000;
/** A message that begins so long before the lease ends has time to be handed over. */
const sendMarginMs = 20_000;

/** Until when a message may begin, by the monotonic clock, whose lease was asked for at `askedAt`: the database grants it later than that. */
export const sendDeadlineAfter = (askedAt: number): number => askedAt + leaseSeconds * 1_000 - sendMarginMs;
