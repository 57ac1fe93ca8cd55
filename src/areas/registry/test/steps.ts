import type { Steps } from '../../../kernel/steps.ts';

/** All steps in one go, and how many there were. */
export function countSteps<T>(steps: Steps<T>): { made: T; count: number } {
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done) return { made: value, count };
  }
}

export const takeSteps = <T>(steps: Steps<T>): T => countSteps(steps).made;
