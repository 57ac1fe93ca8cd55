import type { Db, Tx } from '../../../../kernel/db/index.ts';
import { lockDeliveries, type StaleRow, staleServices, takeStale } from '../../store/alerts.ts';
import { type IncidentRow, lockIncidentRows } from '../../store/incidents.ts';
import { addEntries, type TimelineEntry } from '../../store/timeline.ts';
import { pageAcknowledger, restartEscalation } from './restart.ts';

/** More entries than these become one, because people read the timeline. */
const maxLines = 20;

/**
 * Reports each alert whose sender fell silent once. Silence does not resolve an incident. The acknowledger is paged, or an exhausted
 * escalation restarts.
 */
export async function reportStaleAlerts(db: Db): Promise<void> {
  const failures: unknown[] = [];
  // A service that fails does not stop the report for the others.
  for (const { org_id, service_id } of await db.read(staleServices))
    await db.write((tx) => reportStaleOfService(tx, org_id, service_id)).catch((error) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

async function reportStaleOfService(tx: Tx, org: string, serviceId: string): Promise<void> {
  await lockDeliveries(tx, org, serviceId);
  const stale = Map.groupBy(await takeStale(tx, org, serviceId), (alert) => alert.incident_id);
  for (const incident of await lockIncidentRows(tx, org, [...stale.keys()]))
    if (incident.status !== 'resolved') await reportStaleOfIncident(tx, org, incident, stale.get(incident.id)!);
}

async function reportStaleOfIncident(tx: Tx, org: string, incident: IncidentRow, alerts: readonly StaleRow[]): Promise<void> {
  const { title, source_name: sender } = alerts[0]!;
  const about =
    alerts.length > 1
      ? `${sender} no longer says that ${alerts.length} alerts fire, nor that they ended`
      : `${sender} no longer says that ${title} fires, nor that it ended`;
  const lines: TimelineEntry[] =
    alerts.length > maxLines
      ? [{ kind: 'alert_stale', message: `${about}; look whether it still runs`, data: { count: alerts.length } }]
      : alerts.map((alert) => ({
          kind: 'alert_stale',
          message: `${alert.source_name} no longer says that ${alert.title} fires, nor that it ended; look whether it still runs`,
          data: { alertId: alert.id },
        }));
  await addEntries(tx, org, incident.id, ...lines);
  if (incident.status === 'acknowledged') await pageAcknowledger(tx, org, incident, about);
  else if (incident.walk_state === 'exhausted') await restartEscalation(tx, org, incident, about);
}
