import { type Task, task } from '../../kernel/jobs/index.ts';
import { checkDueDomains, checksDue } from './domains/engine/check-due.ts';
import { removeExpired, sweepOrphans } from './engine/retention.ts';
import { failMailOfAbsentNodes } from './outbound/engine/absent-nodes.ts';
import { addUpOutcomes } from './outbound/engine/outcome-days.ts';
import { aggregateQueueCounts } from './outbound/engine/queue-counts.ts';

/** Checks DNS records of due domains. Safe to run twice: a result counts only if the domain is unchanged since it was read. */
export const checkDomains = task(checksDue, { everySeconds: 15, deadlineSeconds: 300 }, ({ app, signal, log }) =>
  checkDueDomains(app, signal, log),
);

/** Deletes content after 30 days and messages after 90, except unfinished ones. Safe to run twice. */
export const forgetOldMail = task('email.forget-old', { everySeconds: 3_600, deadlineSeconds: 300 }, ({ app, signal }) =>
  removeExpired(app, signal),
);

/** Deletes stored bytes without rows. Safe to run twice. */
export const sweepMail = task('email.sweep', { everySeconds: 86_400, deadlineSeconds: 600 }, ({ app, signal }) =>
  sweepOrphans(app, signal),
);

/** Folds queue changes into the queue counts. Safe to run twice: folded changes are deleted in the same transaction. */
export const addUpQueue = task('email.add-up-queue', { everySeconds: 30, deadlineSeconds: 60 }, ({ app, signal }) =>
  aggregateQueueCounts(app, signal),
);

/** Folds the outcomes of recipients into the figures of their day. Safe to run twice: folded changes are deleted in the same transaction. */
export const addUpDays = task('email.add-up-outcomes', { everySeconds: 30, deadlineSeconds: 60 }, ({ app, signal }) =>
  addUpOutcomes(app, signal),
);

/** Watches mail on the disks of absent servers, and gives it up after 24 h. Safe to run twice: failed recipients are not found again. */
export const watchHolders = task('email.watch-holders', { everySeconds: 60, deadlineSeconds: 300 }, ({ app, signal }) =>
  failMailOfAbsentNodes(app, signal),
);

export const tasks: Task[] = [checkDomains, forgetOldMail, sweepMail, addUpQueue, addUpDays, watchHolders];
