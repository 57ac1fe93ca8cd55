import type { Tx } from '../../../kernel/db/index.ts';
import { countResponse } from '../store/figures.ts';
import * as incidents from '../store/incidents.ts';
import { cancelQueued } from '../store/pages.ts';
import { type Entry, isToldBy, note } from '../store/timeline.ts';
import { tellPublic } from './public-incidents.ts';
import { wakeWalk } from './step.ts';

export type Settled =
  | { is: 'acknowledged' | 'resolved'; incident: incidents.IncidentRow }
  /** Nothing changed: somebody was there before. */
  | { is: 'already'; incident: incidents.IncidentRow };

// The status, the walk and the ledger change in one transaction. The queue is not touched: its jobs ask the ledger when they are
// due, and one that runs at this very moment has either committed to `sending` before us or finds the page canceled.

/** Undefined: no such incident. */
export async function acknowledge(tx: Tx, org: string, incidentId: string, actor: incidents.Actor): Promise<Settled | undefined> {
  const incident = await incidents.lockIncident(tx, org, incidentId);
  if (!incident || incident.status === 'resolved') return incident && { is: 'already', incident };
  if (incident.status === 'acknowledged') {
    const isNews = incident.acknowledged_by?.id !== actor.id && !(await isToldBy(tx, org, incidentId, 'acknowledged', actor.id ?? ''));
    if (isNews) await note(tx, org, incidentId, { kind: 'acknowledged', message: `${actor.label} acknowledged too`, actor });
    return { is: 'already', incident };
  }
  const acknowledged = await incidents.acknowledgeIncident(tx, org, incidentId, actor);
  await settle(tx, org, incidentId, { kind: 'acknowledged', message: `${actor.label} acknowledged`, actor });
  if (acknowledged.next_at) await wakeWalk(tx, org, incidentId, acknowledged.next_at);
  await countResponse(tx, org, acknowledged, 'acknowledged');
  return { is: 'acknowledged', incident: acknowledged };
}

export async function resolve(tx: Tx, org: string, incidentId: string, actor: incidents.Actor, why = ''): Promise<Settled | undefined> {
  const incident = await incidents.lockIncident(tx, org, incidentId);
  if (!incident || incident.status === 'resolved') return incident && { is: 'already', incident };
  const resolved = await incidents.resolveIncident(tx, org, incidentId, actor);
  await settle(tx, org, incidentId, { kind: 'resolved', message: why || `${actor.label} resolved the incident`, actor });
  await countResponse(tx, org, resolved, 'resolved');
  return { is: 'resolved', incident: resolved };
}

async function settle(tx: Tx, org: string, incidentId: string, entry: Entry) {
  await tellPublic(tx, org, incidentId);
  const canceled = await cancelQueued(tx, org, [incidentId]);
  const n = canceled.length;
  await note(
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
