import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';

/** The choices of one campaign: moments, victims, points. One seed makes the same choices again. */
export interface Chance {
  /** From 0 up to, and without, the limit. */
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
}

/** A campaign that fails prints its seed; QUARTERDECK_FAULT_SEED takes it. */
export function makeChance(t: TestContext): Chance {
  const seed = Number(process.env['QUARTERDECK_FAULT_SEED'] ?? randomInt(2 ** 31));
  t.after(() => t.passed || console.error(`${t.name}: QUARTERDECK_FAULT_SEED=${seed} makes its choices again`));
  let state = seed;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0; // a linear congruential generator, whose high bits are the random ones
    return Math.floor((state / 2 ** 32) * limit);
  };
  return { below, pick: (list) => list[below(list.length)]! };
}
