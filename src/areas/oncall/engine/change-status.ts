import type { Tx } from '../../../kernel/db/index.ts';
import * as incidents from '../store/incidents.ts';
import { cancelQueued } from '../store/pages.ts';
import { countResponse } from '../store/statistics.ts';
import { addEntries, hasEntryBy, type TimelineEntry } from '../store/timeline.ts';
import { notifyStatusPages } from './public-incidents.ts';
import { wakeEscalation } from './step.ts';

export type StatusChange =
  | { is: 'acknowledged' | 'resolved'; incident: incidents.IncidentRow }
  /** Nothing changed: the incident had this status already. */
  | { is: 'already'; incident: incidents.IncidentRow };

// The status, the escalation and the pages change in one transaction. The queue is not touched: each job checks its page row when it runs.
// A job that runs at this moment has either committed `sending` before, or finds the page canceled.

/** Undefined: no such incident. */
export async function acknowledge(tx: Tx, org: string, incidentId: string, actor: incidents.Actor): Promise<StatusChange | undefined> {
  const incident = await incidents.lockIncident(tx, org, incidentId);
  if (!incident || incident.status === 'resolved') return incident && { is: 'already', incident };
  if (incident.status === 'acknowledged') {
    const isNews = incident.acknowledged_by?.id !== actor.id && !(await hasEntryBy(tx, org, incidentId, 'acknowledged', actor.id ?? ''));
    if (isNews) await addEntries(tx, org, incidentId, { kind: 'acknowledged', message: `${actor.label} acknowledged too`, actor });
    return { is: 'already', incident };
  }
  const acknowledged = await incidents.acknowledgeIncident(tx, org, incidentId, actor);
  await recordStatusChange(tx, org, incidentId, { kind: 'acknowledged', message: `${actor.label} acknowledged`, actor });
  if (acknowledged.next_at) await wakeEscalation(tx, org, incidentId, acknowledged.next_at);
  await countResponse(tx, org, acknowledged, 'acknowledged');
  return { is: 'acknowledged', incident: acknowledged };
}

export async function resolve(
  tx: Tx,
  org: string,
  incidentId: string,
  actor: incidents.Actor,
  why = '',
): Promise<StatusChange | undefined> {
  const incident = await incidents.lockIncident(tx, org, incidentId);
  if (!incident || incident.status === 'resolved') return incident && { is: 'already', incident };
  const resolved = await incidents.resolveIncident(tx, org, incidentId, actor);
  await recordStatusChange(tx, org, incidentId, { kind: 'resolved', message: why || `${actor.label} resolved the incident`, actor });
  await countResponse(tx, org, resolved, 'resolved');
  return { is: 'resolved', incident: resolved };
}

async function recordStatusChange(tx: Tx, org: string, incidentId: string, entry: TimelineEntry) {
  await notifyStatusPages(tx, org, incidentId);
  const canceled = await cancelQueued(tx, org, [incidentId]);
  const n = canceled.length;
  await addEntries(
    tx,
    org,
    incidentId,
    entry,
    ...(n
      ? [
          {
            kind: 'page_canceled',
            message: `${n} ${n > 1 ? 'pages that were' : 'page that was'} still to go out ${n > 1 ? 'are' : 'is'} canceled`,
            data: { count: n },
          },
        ]
      : []),
  );
}
