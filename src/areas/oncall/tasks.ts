import { heldSentence } from '../../kernel/backup/restore-hold.ts';
import { task } from '../../kernel/jobs/index.ts';
import { enqueueDueExaminations } from './engine/doctor/report.ts';
import { reportStaleAlerts } from './engine/escalation/stale-alerts.ts';
import { deleteExpired, requeueLostWork, sendHeartbeatIfOnTime } from './engine/housekeeping.ts';

/** Senders that renew their alerts and have fallen silent: said once each, and the incident stays for somebody to look at. */
export const staleAlerts = task('oncall.stale-alerts', { everySeconds: 15, deadlineSeconds: 60 }, async ({ app }) => {
  await reportStaleAlerts(app.db);
});

/** Every queued page and every walk has its job. Should one be gone all the same (an operator dropped it, a defect killed it), it is made again. */
export const findLostWork = task('oncall.find-lost-work', { everySeconds: 30, deadlineSeconds: 60 }, async ({ app, log }) => {
  const { walks, pages } = await app.db.write(requeueLostWork);
  if (walks || pages) log.error({ walks, pages }, 'steps or pages were due and had no job; they have one now');
});

/** What is of no use any more. */
export const deleteOld = task('oncall.forget-old', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app }) => {
  await app.db.write(deleteExpired);
});

/** Once a day for each organization that uses on-call: would somebody be paged? Looked at every hour, since days begin at different times. */
export const examineDaily = task('oncall.examine', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  await enqueueDueExaminations(app.db, signal);
});

/** A dead man's switch: as long as pages go out in time, an address of the operator's choice hears of it. */
export const heartbeat = task('oncall.heartbeat', { everySeconds: 30, deadlineSeconds: 30 }, async ({ app, log, signal }) => {
  const url = app.config.heartbeat_url;
  if (!url) return;
  // No incident would page anybody: the watcher outside must notice, also while no page waits yet.
  if (app.hold.isHeld) return log.error(`${heldSentence}; the heartbeat is withheld`);
  const late = await sendHeartbeatIfOnTime(app.db, url, signal);
  if (late) log.error(late, 'pages are late, so the heartbeat is withheld');
});
