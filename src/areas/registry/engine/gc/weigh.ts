import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { countContent, lockUncounted } from '../../store/content.ts';
import { weighSome } from '../quota.ts';

/** What one transaction takes: a few manifests to weigh, and fewer to count, since each may lead to a thousand. */
const atOnce = { weighed: 100, counted: 20 };

/** Weighs what is from before manifests had a weight, and counts what images and indexes are with all that they lead to where that is
 *  not known any more; some at a time: whoever pushes waits for none of it for long. */
export async function weighManifests(app: App, signal: AbortSignal): Promise<number> {
  const weighed = await repeatWork(app, signal, (tx) => weighSome(tx, atOnce.weighed));
  return weighed + (await repeatWork(app, signal, countSome));
}

async function countSome(tx: Tx): Promise<number> {
  const ids = await lockUncounted(tx, atOnce.counted);
  if (ids.length > 0) await countContent(tx, ids);
  return ids.length;
}

async function repeatWork(app: App, signal: AbortSignal, some: (tx: Tx) => Promise<number>): Promise<number> {
  let worked = 0;
  while (!signal.aborted) {
    const count = await app.db.write(some);
    if (count === 0) break;
    worked += count;
  }
  return worked;
}
