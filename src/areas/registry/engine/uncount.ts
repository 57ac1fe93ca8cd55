import Type from 'typebox';
import type { Tx } from '../../../kernel/db/index.ts';
import { type Job, job, moveOrEnqueue } from '../../../kernel/jobs/index.ts';
import { runAtQuarterLoad } from '../../../kernel/yielding.ts';
import { indexBounds } from '../rules/manifest.ts';
import { listersAfter, uncount, uncountIndexes } from '../store/content.ts';
import type { RepositoryRow } from '../store/repositories.ts';

const Changed = Type.Object({ repositoryId: Type.Integer(), digest: Type.String() });

/**
 * Has the indexes that lead to a manifest counted anew, one slice a transaction. Safe to run twice: an index that is not counted stays so.
 * When the manifest changes again meanwhile, the job runs once more from the beginning.
 */
export const uncountJob: Job<{ repositoryId: number; digest: string }, unknown> = job(
  'registry.uncount',
  { payload: Changed },
  async ({ db, signal, payload: { repositoryId, digest } }) => {
    let level = new Set([digest]);
    for (let depth = 0; depth < indexBounds.depth && level.size > 0; depth++) {
      const above = new Set<string>();
      for (const listed of level)
        for (let after: number | undefined = 0; after !== undefined; ) {
          signal.throwIfAborted();
          const from: number = after;
          const listers = await runAtQuarterLoad(signal, () =>
            db.write(async (tx) => {
              const found = await listersAfter(tx, repositoryId, listed, from);
              await uncount(
                tx,
                found.map((p) => p.id),
              );
              return found;
            }),
          );
          for (const lister of listers) if (lister.is_listed) above.add(lister.digest);
          after = listers.at(-1)?.id;
        }
      level = above;
    }
  },
);

/** A manifest came or went: the indexes that lead to it are counted anew, the first of them in this transaction. */
export async function recountIndexes(tx: Tx, repository: Pick<RepositoryRow, 'id' | 'org_id'>, digest: string): Promise<void> {
  if (await uncountIndexes(tx, repository.id, digest)) return;
  const payload = { repositoryId: repository.id, digest };
  await moveOrEnqueue(tx, uncountJob, { key: `${repository.id}:${digest}`, org: repository.org_id, payload });
}
