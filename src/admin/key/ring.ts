import type { KeyRing } from '../../kernel/secrets.ts';
import { newKey } from '../../kernel/secrets.ts';

// Where a rotation stands follows from the key file and the canary alone, so a killed one goes on where it was. A key made by a
// rotation carries its generation in its id; the first key of an installation, whose id is random, counts as generation 0.

export type RotationStage =
  /** The newest key seals, and everything that was sealed before it is sealed with it now. */
  | 'settled'
  /** A new key stands behind the others: it opens, and does not seal yet. */
  | 'added'
  /** The new key seals; values sealed with older ones may remain. */
  | 'promoted';

export type Step = 'add' | 'promote' | 'reseal' | 'drop';

const generationOf = (id: string): number => Number(/^k(\d+)x[0-9a-f]{6}$/.exec(id)?.[1] ?? 0);

const newest = ({ keys }: KeyRing) => keys.reduce((best, key) => (generationOf(key.id) > generationOf(best.id) ? key : best));

export function rotationStageOf(ring: KeyRing, canaryKey: string): RotationStage {
  const head = ring.keys[0]!.id;
  if (newest(ring).id !== head) return 'added';
  return head === canaryKey ? 'settled' : 'promoted';
}

export function withNewKey(ring: KeyRing): KeyRing {
  const { id, key } = newKey();
  const generation = generationOf(newest(ring).id) + 1;
  return { keys: [...ring.keys, { id: `k${generation}x${id.slice(0, 6)}`, key }] };
}

export function withNewestFirst(ring: KeyRing): KeyRing {
  const first = newest(ring);
  return { keys: [first, ...ring.keys.filter((key) => key !== first)] };
}

export const withoutOld = (ring: KeyRing): KeyRing => ({ keys: ring.keys.slice(0, 1) });
