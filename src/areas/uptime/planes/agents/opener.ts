import type { App } from '../../../../kernel/app.ts';
import type { Target } from '../../rules/masked-target.ts';
import { openTarget, type SealedRow } from '../../rules/sealed-target.ts';

/** Unseals targets for probers. Undefined for a target that cannot be unsealed: the other monitors must still be checked. */
export interface Opener {
  open(row: SealedRow & { revision: number }): Target | undefined;
}

/** Logs once per monitor and revision that its target cannot be unsealed, not at every poll. */
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
