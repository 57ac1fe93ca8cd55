import type { App } from '../../../../kernel/app.ts';
import type { Target } from '../../rules/masked-target.ts';
import { openTarget, type SealedRow } from '../../rules/sealed-target.ts';

/** Opens targets for probers. Undefined for one that cannot be: the others must go on being checked. */
export interface Opener {
  open(row: SealedRow & { revision: number }): Target | undefined;
}

/** Says once of each monitor that it cannot be opened, not at every question, and once more when it has been changed and still cannot. */
export function makeOpener({ secrets, log }: Pick<App, 'secrets' | 'log'>): Opener {
  const loggedRevisions = new Map<string, number>();
  return {
    open: (row) => {
      try {
        const target = openTarget(secrets, row);
        if (loggedRevisions.delete(row.id))
          log.info({ monitor: row.id }, 'the target of a monitor can be opened again; it is checked from now on');
        return target;
      } catch (err) {
        if (loggedRevisions.get(row.id) !== row.revision)
          log.error(
            { err, monitor: row.id },
            'the target of a monitor cannot be opened; it is not checked until secret.key holds its key, or it is set anew',
          );
        loggedRevisions.set(row.id, row.revision);
        return undefined;
      }
    },
  };
}
