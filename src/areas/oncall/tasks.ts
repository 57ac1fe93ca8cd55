import { heldSentence } from '../../kernel/backup/restore-hold.ts';
import { task } from '../../kernel/jobs/index.ts';
import { enqueueDueExaminations } from './engine/doctor/report.ts';
import { reportStaleAlerts } from './engine/escalation/stale-alerts.ts';
import { deleteExpired, requeueLostWork, sendHeartbeatIfOnTime } from './engine/housekeeping.ts';

/** Reports each alert once whose sender fell silent. The incident stays open for people to check. */
export const staleAlerts = task('oncall.stale-alerts', { everySeconds: 15, deadlineSeconds: 60 }, async ({ app }) => {
  await reportStaleAlerts(app.db);
});

/** Every queued page and running escalation has a job. A lost one (an operator deleted it, a defect killed it) is enqueued again. */
export const findLostWork = task('oncall.find-lost-work', { everySeconds: 30, deadlineSeconds: 60 }, async ({ app, log }) => {
  const { walks, pages } = await app.db.write(requeueLostWork);
  if (walks || pages) log.error({ walks, pages }, 'steps or pages were due and had no job; they have one now');
});

/** Deletes rows past their retention. */
export const deleteOld = task('oncall.forget-old', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app }) => {
  await app.db.write(deleteExpired);
});

/** Examines each organization that uses on-call once a day. Runs hourly, because organizations are due at different times. */
export const examineDaily = task('oncall.examine', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  await enqueueDueExaminations(app.db, signal);
});

/** A dead man's switch: requests the operator's address while pages are on time. */
export const heartbeat = task('oncall.heartbeat', { everySeconds: 30, deadlineSeconds: 30 }, async ({ app, log, signal }) => {
  const url = app.config.heartbeat_url;
  if (!url) return;
  // Held after a restore: no page would be sent, so the outside watcher must notice even without a queued page.
  if (app.hold.isHeld) return log.error(`${heldSentence}; the heartbeat is withheld`);
  const late = await sendHeartbeatIfOnTime(app.db, url, signal);
  if (late) log.error(late, 'pages are late, so the heartbeat is withheld');
});
