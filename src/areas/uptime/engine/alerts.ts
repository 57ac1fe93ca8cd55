import type { Tx } from '../../../kernel/db/index.ts';
import { now as clock } from '../../../kernel/time.ts';
import { type AlertSituation, type AlertSteps, alertSteps } from '../rules/alert.ts';
import { alertLabels, alertSummary } from '../rules/alert-text.ts';
import type { MonitorRow } from '../store/monitor-row.ts';
import type { OncallNotification } from '../store/oncall-notifications.ts';
import { type StateRow, writeAlerts } from '../store/states.ts';
import { type FailureDetailRow, failureDetails } from '../store/vantage-states.ts';
import { maintainedServices } from '../store/windows.ts';
import { enqueueNotifications } from './notify-oncall.ts';

export interface LockedMonitor {
  monitor: MonitorRow;
  /** Locked by this transaction, and as it is stored now. */
  state: StateRow;
}

type AlertDecision = LockedMonitor & AlertSteps;

/**
 * Decides which alerts on-call must have of these monitors and queues the notifications: an alert fires when the state asks for one and is
 * resolved when it does not. `because`: why the alert of a monitor that is not up ends. The number of statements does not grow with the
 * number of monitors.
 */
export async function updateAlerts(tx: Tx, subjects: readonly LockedMonitor[], because = ''): Promise<void> {
  const asked = subjects.filter(({ monitor, state }) => firingOf(state) || (state.state === 'down' && monitor.service_id !== null));
  if (!asked.length) return;
  const services = asked.flatMap(({ monitor: m }) => (m.service_id === null ? [] : [{ org: m.org_id, id: m.service_id }]));
  const [now, maintained] = await Promise.all([clock(tx), maintainedServices(tx, services)]);
  const settled = asked
    .map((subject): AlertDecision => ({ ...subject, ...alertSteps(situationOf(subject, maintained), now, because) }))
    .filter(({ resolve, fire }) => resolve || fire);
  if (!settled.length) return;
  const words = await failureDetailsOf(tx, settled);
  const tellings = settled.flatMap((each) => alertsOf(each, words, now).map((alert) => ({ org: each.monitor.org_id, alert })));
  await Promise.all([
    writeAlerts(
      tx,
      settled.map(({ monitor, fire }) => ({ id: monitor.id, ...fire })),
    ),
    enqueueNotifications(tx, tellings),
  ]);
}

/** The alert that on-call has, or will have once all queued notifications are delivered. */
const firingOf = ({ alert_since: since, alert_service_id: serviceId }: StateRow) =>
  since !== null && serviceId !== null ? { since, serviceId } : undefined;

const situationOf = ({ monitor, state }: LockedMonitor, maintained: ReadonlySet<string>): AlertSituation => ({
  state: state.state,
  flapping: state.flapping,
  serviceId: monitor.service_id,
  maintained: monitor.service_id !== null && maintained.has(monitor.service_id),
  failingSince: state.failing_since,
  firing: firingOf(state),
  lastFiredAt: state.told_since,
});

async function failureDetailsOf(tx: Tx, settled: readonly AlertDecision[]): Promise<ReadonlyMap<string, FailureDetailRow[]>> {
  const ids = settled.filter(({ fire }) => fire).map(({ monitor }) => monitor.id);
  return ids.length ? Map.groupBy(await failureDetails(tx, ids), (w) => w.monitor_id) : new Map();
}

/** In order: an alert that moves to another service ends at the first before it fires at the second. */
function alertsOf(
  { monitor, resolve, fire }: AlertDecision,
  words: ReadonlyMap<string, FailureDetailRow[]>,
  now: string,
): OncallNotification['alert'][] {
  const source = { monitorId: monitor.id, monitorName: monitor.name };
  const alerts: OncallNotification['alert'][] = [];
  if (resolve)
    alerts.push({
      ...source,
      serviceId: resolve.serviceId,
      status: 'resolved',
      startsAt: resolve.since,
      endsAt: now,
      summary: `${monitor.name} is down`,
      ...(resolve.because ? { endedBecause: resolve.because } : {}),
    });
  if (fire) {
    const failing = words.get(monitor.id) ?? [];
    const labels = alertLabels(
      monitor,
      failing.map((w) => w.vantage),
    );
    alerts.push({
      ...source,
      serviceId: fire.serviceId,
      status: 'firing',
      startsAt: fire.since,
      labels,
      summary: alertSummary(monitor, failing),
    });
  }
  return alerts;
}
