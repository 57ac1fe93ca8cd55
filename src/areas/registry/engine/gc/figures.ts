import type { App } from '../../../../kernel/app.ts';
import { addChanges, countRepository, repositoriesAfter } from '../../store/figures.ts';

/** Change rows that one transaction adds up. */
const changesPerBatch = 5_000;

/** Adds the changes of pushes and deletions to the figures of repositories, and counts repositories without figures, one by one. */
export async function keepFigures(app: App, signal: AbortSignal): Promise<number> {
  let worked = 0;
  while (!signal.aborted) {
    const added = await app.db.write((tx) => addChanges(tx, changesPerBatch));
    worked += added;
    if (added < changesPerBatch) break;
  }
  return worked + (await countRepositories(app, signal, true));
}

/** Counts all repositories, or only those without figures. Returns how many figures changed. */
export async function countRepositories(app: App, signal: AbortSignal, uncounted: boolean): Promise<number> {
  let changed = 0;
  const failures: unknown[] = [];
  for (let after = 0; !signal.aborted; ) {
    const ids = await app.db.read((tx) => repositoriesAfter(tx, after, 100, uncounted));
    for (const id of ids) {
      if (signal.aborted) break;
      // A repository that fails stops no other.
      try {
        if (await app.db.write((tx) => countRepository(tx, id))) changed++;
      } catch (error) {
        failures.push(error);
      }
    }
    const last = ids.at(-1);
    if (last === undefined) break;
    after = last;
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} repositories could not be counted: ${failures[0]}`);
  return changed;
}
