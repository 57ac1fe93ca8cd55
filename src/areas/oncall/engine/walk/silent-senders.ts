import type { Db, Tx } from '../../../../kernel/db/index.ts';
import { lockDeliveries, type StaleRow, staleServices, takeStale } from '../../store/alerts.ts';
import { type IncidentRow, lockWhole } from '../../store/incidents.ts';
import { type Entry, note } from '../../store/timeline.ts';
import { tellAcknowledger, walkAgain } from './again.ts';

/** More lines than these are one: a timeline is for people. */
const mostLines = 20;

/**
 * Alerts whose sender has fallen silent, each told once. Silence is no end: the incident stays as it is. But nobody is left to wait for a
 * word that may never come: whoever acknowledged is told, and when nobody did, a policy that was walked through is walked again.
 */
export async function tellStaleAlerts(db: Db): Promise<void> {
  const failures: unknown[] = [];
  // One whose deliveries do not let it in keeps nobody else from hearing.
  for (const { org_id, service_id } of await db.read(staleServices))
    await db.write((tx) => tellStaleOf(tx, org_id, service_id)).catch((error) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

async function tellStaleOf(tx: Tx, org: string, serviceId: string): Promise<void> {
  await lockDeliveries(tx, org, serviceId);
  const stale = Map.groupBy(await takeStale(tx, org, serviceId), (alert) => alert.incident_id);
  for (const incident of await lockWhole(tx, org, [...stale.keys()]))
    if (incident.status !== 'resolved') await tellStale(tx, org, incident, stale.get(incident.id)!);
}

async function tellStale(tx: Tx, org: string, incident: IncidentRow, alerts: readonly StaleRow[]): Promise<void> {
  const { title, source_name: sender } = alerts[0]!;
  const about =
    alerts.length > 1
      ? `${sender} no longer says that ${alerts.length} alerts fire, nor that they ended`
      : `${sender} no longer says that ${title} fires, nor that it ended`;
  const lines: Entry[] =
    alerts.length > mostLines
      ? [{ kind: 'alert_stale', message: `${about}; look whether it still runs`, data: { count: alerts.length } }]
      : alerts.map((alert) => ({
          kind: 'alert_stale',
          message: `${alert.source_name} no longer says that ${alert.title} fires, nor that it ended; look whether it still runs`,
          data: { alertId: alert.id },
        }));
  await note(tx, org, incident.id, ...lines);
  if (incident.status === 'acknowledged') await tellAcknowledger(tx, org, incident, about);
  else if (incident.walk_state === 'exhausted') await walkAgain(tx, org, incident, about);
}
