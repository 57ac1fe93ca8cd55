import type { Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import { shareService } from '../../services/index.ts';
import { lockDeliveries } from '../store/alerts.ts';
import { hasEnded, rememberEarlyEnd } from '../store/early-ends.ts';
import { ingest } from './ingest.ts';

/** An alert from a monitor, which acts as a built-in alert source. Its one alert has the monitor's id as fingerprint. */
export interface MonitorAlert {
  serviceId: string;
  monitorId: string;
  monitorName: string;
  status: 'firing' | 'resolved';
  /** The first failure of the streak that took it down; for `resolved`, of the streak that ended. */
  startsAt: string;
  endsAt?: string;
  labels?: Record<string, string>;
  /** One sentence: what fails. */
  summary: string;
  /** Why the alert ended if the monitor did not recover: it was deleted, disabled, or moved to another service. */
  endedBecause?: string;
}

/**
 * Stores a monitor's alert. False: the service is gone, so there is no incident to change. Safe to repeat, in any order: `serviceId`,
 * `monitorId` and `startsAt` identify one occurrence, which begins once and ends once. An ended occurrence never fires again. An end that
 * arrives before its beginning is stored, and the late beginning then does nothing. An outage that outlasts its ended alert needs a new
 * `startsAt`.
 */
export async function receiveMonitorAlert(tx: Tx, org: string, alert: MonitorAlert): Promise<boolean> {
  const [service, , at] = await Promise.all([shareService(tx, org, alert.serviceId), lockDeliveries(tx, org, alert.serviceId), now(tx)]);
  if (!service) return false;
  if (alert.status === 'firing' && (await hasEnded(tx, org, alert))) return true;
  const { monitorId, monitorName, status, startsAt } = alert;
  await ingest(
    tx,
    org,
    {
      serviceId: service.id,
      serviceName: service.name,
      sourceId: monitorId,
      sourceName: monitorName,
      origin: 'uptime',
      now: at,
      requestId: undefined,
      ...(alert.endedBecause ? { endedBecause: alert.endedBecause } : {}),
    },
    {
      alerts: [
        {
          fingerprint: monitorId,
          status,
          title: `${monitorName} is down`,
          labels: { monitor: monitorName, ...alert.labels },
          annotations: { summary: alert.summary },
          generatorUrl: undefined,
          startsAt,
          endsAt: status === 'resolved' ? (alert.endsAt ?? at) : undefined,
          isOneOccurrence: true,
          leaseUntil: undefined,
        },
      ],
      truncated: 0,
      summary: undefined,
      // Not in the title: a status page shows the title once an update is published, and hosts and errors must stay internal.
      description: alert.summary,
    },
  );
  if (status === 'resolved') await rememberEarlyEnd(tx, org, alert);
  return true;
}
