import { task } from '../../kernel/jobs/index.ts';
import { deleteAllowancesBatch, deleteExpired, deleteUnconfirmedBatch, enqueueMissedUpdates } from './engine/announce.ts';
import { checkDomains } from './engine/check-domains.ts';
import { domainsDue } from './engine/page-domain.ts';

const deleteOld = task('status.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  while (!signal.aborted && (await app.db.write(deleteUnconfirmedBatch)));
  while (!signal.aborted && (await app.db.write(deleteAllowancesBatch)));
  await app.db.write(deleteExpired);
});

/** Announces updates that servers of the previous release published without a job. */
const findMissedUpdates = task('status.find-forgotten', { everySeconds: 60, deadlineSeconds: 60 }, async ({ app, signal, log }) => {
  const updates = await enqueueMissedUpdates(app.db, signal);
  if (updates) log.info({ updates }, 'updates of a server of the release before are announced now');
});

/** Looks domains of pages up. Safe to run twice: the outcome is decided with the claims of the name locked. */
const lookUpDomains = task(domainsDue, { everySeconds: 20, deadlineSeconds: 240 }, ({ app, signal, log }) =>
  checkDomains(app, signal, log),
);

export const tasks = [deleteOld, findMissedUpdates, lookUpDomains];
