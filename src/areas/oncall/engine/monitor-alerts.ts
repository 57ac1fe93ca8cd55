import type { Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import { shareService } from '../../services/index.ts';
import { lockDeliveries } from '../store/alerts.ts';
import { hasEnded, rememberEarlyEnd } from '../store/early-ends.ts';
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

/**
 * Takes in what a monitor says. False: the service is gone, so there is nobody to tell.
 *
 * Safe to repeat, and safe in any order: `serviceId`, `monitorId` and `startsAt` name one occurrence, which begins once and ends once.
 * One that has ended never fires again, and an end that arrives before its beginning is remembered, so that the beginning then does
 * nothing. An outage that goes on after its alert was ended must be told with a new `startsAt`.
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
      // Not the title: that is what a status page shows once somebody publishes an update, and hosts and errors are no reader's business.
      description: alert.summary,
    },
  );
  if (status === 'resolved') await rememberEarlyEnd(tx, org, alert);
  return true;
}
