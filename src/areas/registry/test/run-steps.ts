import type { Steps } from '../../../kernel/steps.ts';

/** Runs all steps at once. Returns the result and the number of steps. */
export function countSteps<T>(steps: Steps<T>): { made: T; count: number } {
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done) return { made: value, count };
  }
}

export const takeSteps = <T>(steps: Steps<T>): T => countSteps(steps).made;
