import type { Tx } from '../../../kernel/db/index.ts';
import type { Secrets } from '../../../kernel/secrets.ts';
import { publicTarget } from '../rules/masked-target.ts';
import { openTarget, sealTarget } from '../rules/sealed-target.ts';
import { lockUnsealed, writeSealed } from '../store/unsealed.ts';

const batchSize = 200;

/** Seals some of what an earlier release left in the clear; how many that were. A deleted monitor needs its secrets no more. */
export async function sealSome(tx: Tx, secrets: Secrets): Promise<number> {
  const found = await lockUnsealed(tx, batchSize);
  const sealed = found.map(({ id, target, deleted }) => {
    const shown = publicTarget(target);
    return { id, target: shown, sealed: sealTarget(secrets, id, deleted ? shown : openTarget(secrets, { id, target, sealed: null })) };
  });
  if (sealed.length) await writeSealed(tx, sealed);
  return sealed.length;
}
