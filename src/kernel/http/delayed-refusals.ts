import type { Refusal } from '../errors.ts';

/**
 * Whoever asks in a loop asks again as soon as it is refused, and a refusal costs as much as many an answer: while the event loop is busy, who is
 * told to ask less often is told so a moment later. What it still sends waits with it, unread.
 */
export interface DelayedRefusals {
  /** Whether it is told later: then `say` is called in a moment. */
  delay(refusal: Refusal, say: () => void): boolean;
}

/** So long; and beyond so many at once nobody waits. */
export const refusalDelay = { ms: 500, maxPending: 256 };

export function makeDelayedRefusals(isBusy: () => boolean): DelayedRefusals {
  let held = 0;
  return {
    delay: ({ status }, say) => {
      if (status !== 429 || held >= refusalDelay.maxPending || !isBusy()) return false;
      held++;
      setTimeout(() => {
        held--;
        say();
      }, refusalDelay.ms);
      return true;
    },
  };
}

export const noDelay: DelayedRefusals = { delay: () => false };
