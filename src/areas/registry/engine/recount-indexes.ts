import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import type { Tx } from '../../../kernel/db/index.ts';
import { type Job, job, moveOrEnqueue } from '../../../kernel/jobs/index.ts';
import { runAtQuarterLoad } from '../../../kernel/yielding.ts';
import { indexLimits } from '../rules/manifest.ts';
import { listersAfter, uncount, uncountIndexes } from '../store/content.ts';
import type { RepositoryRow } from '../store/repositories.ts';

const UncountPayload = Type.Object({ repositoryId: Type.Integer(), digest: Type.String() });

/** Before the next look at indexes that others hold. */
const heldPauseMs = 200;

/**
 * Marks the indexes above a manifest for recounting, one batch per transaction. Safe to run twice: an uncounted index stays uncounted. If
 * the manifest changes meanwhile, the job runs again from the beginning.
 */
export const uncountJob: Job<{ repositoryId: number; digest: string }, unknown> = job(
  'registry.uncount',
  { payload: UncountPayload },
  async ({ db, signal, payload: { repositoryId, digest } }) => {
    let level = new Set([digest]);
    for (let depth = 0; depth < indexLimits.depth && level.size > 0; depth++) {
      const above = new Set<string>();
      for (const listed of level)
        for (let after: number | undefined = 0; after !== undefined; ) {
          signal.throwIfAborted();
          const from: number = after;
          const { listers, isWhole } = await runAtQuarterLoad(signal, () => db.write((tx) => uncountBatch(tx, repositoryId, listed, from)));
          if (!isWhole) {
            await sleep(heldPauseMs, undefined, { signal });
            continue;
          }
          for (const lister of listers) if (lister.is_listed) above.add(lister.digest);
          after = listers.at(-1)?.id;
        }
      level = above;
    }
  },
);

async function uncountBatch(tx: Tx, repositoryId: number, digest: string, after: number) {
  const listers = await listersAfter(tx, repositoryId, digest, after);
  const isWhole = await uncount(
    tx,
    listers.map((p) => p.id),
  );
  return { listers, isWhole };
}

/** After a manifest was added or deleted: marks the indexes above it for recounting, the first batch in this transaction. */
export async function recountIndexes(tx: Tx, repository: Pick<RepositoryRow, 'id' | 'org_id'>, digest: string): Promise<void> {
  if (await uncountIndexes(tx, repository.id, digest)) return;
  const payload = { repositoryId: repository.id, digest };
  await moveOrEnqueue(tx, uncountJob, { key: `${repository.id}:${digest}`, org: repository.org_id, payload });
}
