import { forgetSomeAudit } from '../../identity/audit.ts';
import { task } from '../../kernel/jobs/index.ts';
import { forgetSomeInvitations } from './engine/invitations.ts';
import { forgetSomeAccounts } from './engine/membership.ts';

/**
 * Deletes old audit rows, unused invitation links, and accounts without an organization. Otherwise a caller that invites and removes
 * without end would fill the tables.
 */
export const deleteExpired = task('organization.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  while (!signal.aborted && (await app.db.write(forgetSomeInvitations)));
  while (!signal.aborted && (await app.db.write(forgetSomeAccounts)));
  const { audit_days } = app.config;
  while (audit_days > 0 && !signal.aborted && (await app.db.write((tx) => forgetSomeAudit(tx, audit_days))));
});
