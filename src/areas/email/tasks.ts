import { type Task, task } from '../../kernel/jobs/index.ts';
import { checkDueDomains, checksDue } from './engine/domains/check-due.ts';
import { aggregateQueueCounts } from './engine/queue-counts.ts';
import { failMailOfAbsentNodes } from './engine/absent-nodes.ts';
import { removeExpired, sweepOrphans } from './engine/retention.ts';

/** Looks whether domains have their records. Safe to run twice: a check counts only for a domain that is as it was when it was read. */
export const checkDomains = task(checksDue, { everySeconds: 15, deadlineSeconds: 300 }, ({ app, signal, log }) =>
  checkDueDomains(app, signal, log),
);

/** Content past 30 days and messages past 90 go; what is not finished stays. Safe to run twice. */
export const forgetOldMail = task('email.forget-old', { everySeconds: 3_600, deadlineSeconds: 300 }, ({ app, signal }) =>
  removeExpired(app, signal),
);

/** Bytes without rows go. Safe to run twice. */
export const sweepMail = task('email.sweep', { everySeconds: 86_400, deadlineSeconds: 600 }, ({ app, signal }) =>
  sweepOrphans(app, signal),
);

/** Adds up how much is under way. Safe to run twice: what is added is gone from the changes in the same transaction. */
export const addUpQueue = task('email.add-up-queue', { everySeconds: 30, deadlineSeconds: 60 }, ({ app, signal }) =>
  aggregateQueueCounts(app, signal),
);

/** Mail on the disks of servers that are away. Safe to run twice: what was given up is found no more. */
export const watchHolders = task('email.watch-holders', { everySeconds: 60, deadlineSeconds: 300 }, ({ app, signal }) =>
  failMailOfAbsentNodes(app, signal),
);

export const tasks: Task[] = [checkDomains, forgetOldMail, sweepMail, addUpQueue, watchHolders];
