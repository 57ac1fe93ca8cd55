import type { App } from '../../../../kernel/app.ts';
import { weighSome } from '../quota.ts';

const atOnce = 100;

/** Weighs what is from before manifests had a weight, a few at a time: whoever pushes waits for none of it for long. */
export async function weighManifests(app: App, signal: AbortSignal): Promise<number> {
  let weighed = 0;
  while (!signal.aborted) {
    const some = await app.db.write((tx) => weighSome(tx, atOnce));
    if (some === 0) break;
    weighed += some;
  }
  return weighed;
}
