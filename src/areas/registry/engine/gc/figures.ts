import type { App } from '../../../../kernel/app.ts';
import { addChanges, countRepository, repositoriesAfter } from '../../store/figures.ts';

/** Notes that one transaction adds up. */
const changesAtOnce = 5_000;

/** Adds what pushes and deletions changed to the figures of repositories, and counts those that nobody has counted, one by one. */
export async function keepFigures(app: App, signal: AbortSignal): Promise<number> {
  let worked = 0;
  while (!signal.aborted) {
    const added = await app.db.write((tx) => addChanges(tx, changesAtOnce));
    worked += added;
    if (added < changesAtOnce) break;
  }
  return worked + (await countRepositories(app, signal, true));
}

/** All of them, or only those that nobody has counted yet. Returns how many have other figures now. */
export async function countRepositories(app: App, signal: AbortSignal, uncounted: boolean): Promise<number> {
  let changed = 0;
  for (let after = 0; !signal.aborted; ) {
    const ids = await app.db.read((tx) => repositoriesAfter(tx, after, 100, uncounted));
    for (const id of ids) {
      if (signal.aborted) break;
      if (await app.db.write((tx) => countRepository(tx, id))) changed++;
    }
    const last = ids.at(-1);
    if (last === undefined) break;
    after = last;
  }
  return changed;
}
