import type { Tx } from '../../../kernel/db/index.ts';
import type { Secrets } from '../../../kernel/secrets.ts';
import { publicTarget } from '../rules/masked-target.ts';
import { openTarget, sealTarget } from '../rules/sealed-target.ts';
import { lockUnsealed, writeSealed } from '../store/unsealed.ts';

const batchSize = 200;

/** Seals a batch of targets that an earlier release stored in the clear; returns how many. A deleted monitor keeps only the public part. */
export async function sealSome(tx: Tx, secrets: Secrets): Promise<number> {
  const found = await lockUnsealed(tx, batchSize);
  const sealed = found.map(({ id, target, deleted }) => {
    const shown = publicTarget(target);
    return { id, target: shown, sealed: sealTarget(secrets, id, deleted ? shown : openTarget(secrets, { id, target, sealed: null })) };
  });
  if (sealed.length) await writeSealed(tx, sealed);
  return sealed.length;
}
