/**
 * What the clock on this machine's wall says, for what other machines read: the date of a mail, the time for which a certificate is good.
 * Nothing here is decided by it; see time.ts.
 */
export const wallClock = (): Date => new Date();
