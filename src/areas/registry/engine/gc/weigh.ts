import type { App } from '../../../../kernel/app.ts';
import { isTemporary } from '../../../../kernel/http/temporary-failure.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { countContent, lockUncounted, uncountedAfter } from '../../store/content.ts';
import { weighSome } from '../quota.ts';

/** What one transaction takes: a few manifests to weigh, and fewer to count, since each may lead to a thousand. */
const atOnce = { weighed: 100, counted: 20 };

/** Counts what images and indexes are with all that they lead to where that is not known any more, and weighs what is from before
 *  manifests had a weight; some at a time: whoever pushes waits for none of it for long. */
export async function weighManifests(app: App, signal: AbortSignal, log: Logger): Promise<number> {
  let worked = 0;
  // From the beginning again while there is something: an index may be uncounted behind the place where this one is.
  for (let counted = await countPass(app, signal, log); counted > 0; counted = await countPass(app, signal, log)) worked += counted;
  while (!signal.aborted) {
    const weighed = await app.db.write((tx) => weighSome(tx, atOnce.weighed));
    if (weighed === 0) break;
    worked += weighed;
  }
  return worked;
}

async function countPass(app: App, signal: AbortSignal, log: Logger): Promise<number> {
  let counted = 0;
  for (let after = 0; !signal.aborted; ) {
    const ids = await app.db.read((tx) => uncountedAfter(tx, after, atOnce.counted));
    const last = ids.at(-1);
    if (last === undefined) break;
    counted += await countThese(app, log, ids);
    after = last;
  }
  return counted;
}

/** One that cannot be counted is left as it is, and keeps no other from it: then each has a transaction of its own. */
async function countThese(app: App, log: Logger, ids: number[]): Promise<number> {
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
  for (const id of ids) counted += await countThese(app, log, [id]);
  return counted;
}
