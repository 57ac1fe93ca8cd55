import type { Tx } from '../../../kernel/db.ts';
import { now } from '../../../kernel/time.ts';
import { shareService } from '../../services/index.ts';
import { lockDeliveries } from '../store/alerts.ts';
import { ingest } from './ingest.ts';

/** A monitor's word about its service: a built-in alert source, whose one alert has the monitor's id as its fingerprint. */
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
  /** Why it ended when the monitor did not come up again: it was deleted, disabled, or moved to another service. */
  endedBecause?: string;
}

/** In the transaction of the monitor's transition: both happen or neither. False: the service is gone, so there is nobody to tell. */
export async function receiveMonitorAlert(tx: Tx, org: string, alert: MonitorAlert): Promise<boolean> {
  const [service, , at] = await Promise.all([shareService(tx, org, alert.serviceId), lockDeliveries(tx, org, alert.serviceId), now(tx)]);
  if (!service) return false;
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
          leaseUntil: undefined,
        },
      ],
      truncated: 0,
      summary: undefined,
      // Not the title: that is what a status page shows once somebody publishes an update, and hosts and errors are no reader's business.
      description: alert.summary,
    },
  );
  return true;
}
