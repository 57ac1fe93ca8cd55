import { enqueueMany, task } from '../../kernel/jobs/index.ts';
import { pageJob, stepJob } from './engine/page-reports.ts';
import { takeStale } from './store/alerts.ts';
import { lag } from './store/figures.ts';
import { overdueWalks } from './store/incidents.ts';
import { overduePages } from './store/pages.ts';
import { noteAll } from './store/timeline.ts';

/** Senders that renew their alerts and have fallen silent: said once each, and the incident stays for somebody to look at. */
export const staleAlerts = task('oncall.stale-alerts', { everySeconds: 15, deadlineSeconds: 60 }, async ({ app }) => {
  await app.db.write(async (tx) => {
    const stale = await takeStale(tx);
    for (const org of new Set(stale.map((s) => s.org_id)))
      await noteAll(
        tx,
        org,
        stale
          .filter((s) => s.org_id === org)
          .map((s) => ({
            incidentId: s.incident_id,
            kind: 'alert_stale',
            message: `${s.source_name} no longer says that ${s.title} fires, nor that it ended; look whether it still runs`,
            data: { alertId: s.id },
          })),
      );
  });
});

const overdueSeconds = 30;

/**
 * Every queued page and every walk has its job. Should one be gone all the same (an operator dropped it, a defect killed it), it is
 * made again: enqueueing what is there already does nothing.
 */
export const findLostWork = task('oncall.find-lost-work', { everySeconds: 30, deadlineSeconds: 60 }, async ({ app, log }) => {
  await app.db.write(async (tx) => {
    const keyed = ({ org_id, id }: { org_id: string; id: string }) => ({ key: id, org: org_id });
    const walks = await enqueueMany(tx, stepJob, (await overdueWalks(tx, overdueSeconds)).map(keyed));
    const pages = await enqueueMany(tx, pageJob, (await overduePages(tx, overdueSeconds)).map(keyed));
    if (walks || pages) log.error({ walks, pages }, 'steps or pages were due and had no job; they have one now');
  });
});

/** Later than this, the outside watcher must notice. */
const mostLagSeconds = 60;

/** A dead man's switch: as long as pages go out in time, an address of the operator's choice hears of it. */
export const heartbeat = task('oncall.heartbeat', { everySeconds: 30, deadlineSeconds: 30 }, async ({ app, log, signal }) => {
  const url = app.config.heartbeat_url;
  if (!url) return;
  const late = await app.db.read(lag);
  if (Math.max(late.escalation, late.page) > mostLagSeconds) {
    log.error(late, 'pages are late, so the heartbeat is withheld');
    return;
  }
  // The operator's own address: the guard is for those that users give.
  const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]), redirect: 'follow' });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`the heartbeat address answered ${answer.status}; check QUARTERDECK_HEARTBEAT_URL`);
});
