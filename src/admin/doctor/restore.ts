import { findHold } from '../../kernel/data/restore-hold.ts';
import type { Db } from '../../kernel/db/index.ts';
import { waitingToLeave } from '../restore/go.ts';
import { type Finding, ok, warn } from './finding.ts';

/** Whether everything that leaves waits for the operator. */
export const checkRestore = (db: Db): Promise<Finding> =>
  db.read(async (tx) => {
    const hold = await findHold(tx);
    if (!hold) return ok('restore', 'nothing is held back');
    const waiting = await waitingToLeave(tx);
    const what = waiting.map(({ kind, waiting: count }) => `${count} ${kind}`).join(', ') || 'nothing yet';
    return warn(
      'restore',
      `everything that leaves waits since the restore at ${hold.restored_at} (${what}); see that the old server is stopped, then \`quarterdeck admin restore go\``,
    );
  });
