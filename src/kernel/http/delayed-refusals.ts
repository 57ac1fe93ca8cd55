import type { Refusal } from '../errors.ts';

/**
 * A client in a tight loop repeats its request as soon as it is refused, and a refusal costs as much as many a response. While the event
 * loop is busy, 429 responses are delayed. Bytes that the client still sends wait with it, unread.
 */
export interface DelayedRefusals {
  /** True if the refusal is delayed: then `say` is called later. */
  delay(refusal: Refusal, send: () => void): boolean;
}

/** Refusals are delayed by 500 ms, and by nothing once 256 are pending. */
export const refusalDelay = { ms: 500, maxPending: 256 };

export function makeDelayedRefusals(isBusy: () => boolean): DelayedRefusals {
  let pending = 0;
  return {
    delay: ({ status }, say) => {
      if (status !== 429 || pending >= refusalDelay.maxPending || !isBusy()) return false;
      pending++;
      setTimeout(() => {
        pending--;
        say();
      }, refusalDelay.ms);
      return true;
    },
  };
}

export const noDelay: DelayedRefusals = { delay: () => false };
