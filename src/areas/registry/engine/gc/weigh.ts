import type { App } from '../../../../kernel/app.ts';
import { isTemporary } from '../../../../kernel/http/temporary-failure.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { countContent, lockUncounted, uncountedAfter } from '../../store/content.ts';
import { weighBatch } from '../quota.ts';

/** Manifests per transaction. Counting takes fewer, since an index may lead to a thousand manifests. */
const batchSize = { weigh: 100, count: 20 };

/**
 * Counts images and indexes whose content size is unknown, and weighs manifests of older releases. In batches, so that a push waits only
 * briefly.
 */
export async function weighManifests(app: App, signal: AbortSignal, log: Logger): Promise<number> {
  let worked = 0;
  // Repeated until nothing is left: an index may become uncounted behind the current position.
  for (let counted = await countPass(app, signal, log); counted > 0; counted = await countPass(app, signal, log)) worked += counted;
  while (!signal.aborted) {
    const weighed = await app.db.write((tx) => weighBatch(tx, batchSize.weigh));
    if (weighed === 0) break;
    worked += weighed;
  }
  return worked;
}

async function countPass(app: App, signal: AbortSignal, log: Logger): Promise<number> {
  let counted = 0;
  for (let after = 0; !signal.aborted; ) {
    const ids = await app.db.read((tx) => uncountedAfter(tx, after, batchSize.count));
    const last = ids.at(-1);
    if (last === undefined) break;
    counted += await countBatch(app, log, ids);
    after = last;
  }
  return counted;
}

/** If a batch fails, each manifest is counted in a transaction of its own, and one that cannot be counted is skipped. */
async function countBatch(app: App, log: Logger, ids: number[]): Promise<number> {
  try {
    return await app.db.write(async (tx) => {
      const locked = await lockUncounted(tx, ids);
      if (locked.length > 0) await countContent(tx, locked);
      return locked.length;
    });
  } catch (error) {
    if (isTemporary(error)) throw error;
    if (ids.length === 1) {
      log.error({ err: error, manifest: ids[0] }, 'the size of an image could not be counted; trying again at the next run');
      return 0;
    }
  }
  let counted = 0;
  for (const id of ids) counted += await countBatch(app, log, [id]);
  return counted;
}
