import type { Refusal } from '../errors.ts';

/**
 * Whoever asks in a loop asks again as soon as it is refused, and a refusal costs as much as many an answer: while the event loop is busy, who is
 * told to ask less often is told so a moment later. What it still sends waits with it, unread.
 */
export interface SlowRefusals {
  /** Whether it is told later: then `say` is called in a moment. */
  hold(refusal: Refusal, say: () => void): boolean;
}

/** So long; and beyond so many at once nobody waits. */
export const slowness = { ms: 500, most: 256 };

export function makeSlowRefusals(isBusy: () => boolean): SlowRefusals {
  let held = 0;
  return {
    hold: ({ status }, say) => {
      if (status !== 429 || held >= slowness.most || !isBusy()) return false;
      held++;
      setTimeout(() => {
        held--;
        say();
      }, slowness.ms);
      return true;
    },
  };
}

export const neverSlow: SlowRefusals = { hold: () => false };
