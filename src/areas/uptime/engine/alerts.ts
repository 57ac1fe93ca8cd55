import type { Tx } from '../../../kernel/db.ts';
import { now as clock } from '../../../kernel/time.ts';
import { receiveMonitorAlert } from '../../oncall/index.ts';
import { alertSteps } from '../rules/alert.ts';
import { alertLabels, alertSummary } from '../rules/alert-text.ts';
import type { MonitorRow } from '../store/monitor-row.ts';
import { failingWords } from '../store/opinions.ts';
import { type StateRow, writeAlert } from '../store/states.ts';
import { isMaintained } from '../store/windows.ts';

export interface Subject {
  monitor: MonitorRow;
  /** Locked by this transaction, and as it is stored now. */
  state: StateRow;
}

/** Gives on-call what these monitors' states ask for, and takes back what they do not. `because`: why an alert of a monitor that is not up ends. */
export async function settleAlerts(tx: Tx, subjects: readonly Subject[], because = ''): Promise<void> {
  // On-call takes one delivery for a service at a time: in one order, so that two batches do not wait for each other.
  const order = ({ monitor: m, state: s }: Subject) => `${m.org_id} ${s.alert_service_id ?? m.service_id ?? ''} ${m.id}`;
  for (const subject of [...subjects].sort((a, b) => (order(a) < order(b) ? -1 : 1))) await settleAlert(tx, subject, because);
}

async function settleAlert(tx: Tx, { monitor, state }: Subject, because: string): Promise<void> {
  const firing =
    state.alert_since !== null && state.alert_service_id !== null
      ? { since: state.alert_since, serviceId: state.alert_service_id }
      : undefined;
  if (!firing && (state.state !== 'down' || monitor.service_id === null)) return;
  const [now, maintained] = await Promise.all([
    clock(tx),
    monitor.service_id !== null && isMaintained(tx, monitor.org_id, monitor.service_id),
  ]);
  const { resolve, fire } = alertSteps(
    {
      state: state.state,
      flapping: state.flapping,
      serviceId: monitor.service_id,
      maintained,
      failingSince: state.failing_since,
      firing,
      toldSince: state.told_since,
    },
    now,
    because,
  );
  const source = { monitorId: monitor.id, monitorName: monitor.name };
  if (resolve) {
    const { serviceId, since, because: endedBecause } = resolve;
    const reason = endedBecause ? { endedBecause } : {};
    await receiveMonitorAlert(tx, monitor.org_id, {
      ...source,
      serviceId,
      status: 'resolved',
      startsAt: since,
      endsAt: now,
      summary: `${monitor.name} is down`,
      ...reason,
    });
    await writeAlert(tx, monitor.id, undefined);
  }
  if (fire) {
    const words = await failingWords(tx, monitor.id);
    const told = await receiveMonitorAlert(tx, monitor.org_id, {
      ...source,
      serviceId: fire.serviceId,
      status: 'firing',
      startsAt: fire.since,
      labels: alertLabels(
        monitor,
        words.map((w) => w.vantage),
      ),
      summary: alertSummary(monitor, words),
    });
    if (told) await writeAlert(tx, monitor.id, fire);
  }
}
