/**
 * This machine's clock, for values that other machines read: the date of a mail, the validity of a certificate. No decision depends on it;
 * see time.ts.
 */
export const wallClock = (): Date => new Date();
