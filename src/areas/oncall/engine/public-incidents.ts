import type { Tx } from '../../../kernel/db/index.ts';
import { publicChanged } from '../../services/index.ts';
import { isPublic, publicIncidentsOf, publicUpdateById, publishedWithin } from '../store/public.ts';

/** How an incident stands, or stood when an update was written. */
export type PublicState = 'investigating' | 'identified' | 'resolved' | 'postmortem';

export interface PublicUpdate {
  id: string;
  at: string;
  body: string;
  state: PublicState;
}

/** An incident as the public may know it: it has at least one update, newest first. */
export interface PublicIncident {
  id: string;
  serviceId: string;
  title: string;
  state: PublicState;
  openedAt: string;
  acknowledgedAt?: string;
  resolvedAt?: string;
  updates: PublicUpdate[];
}

/** Those that are not resolved, and those that ended in the last so many days; at most so many. */
export async function publicIncidents(
  tx: Tx,
  org: string,
  serviceIds: readonly string[],
  { pastDays, most }: { pastDays: number; most: number },
): Promise<PublicIncident[]> {
  const found = await publicIncidentsOf(tx, org, serviceIds, pastDays, most);
  return found.map((i) => ({
    id: i.id,
    serviceId: i.service_id,
    title: i.title,
    state: stateNow(i, i.updates),
    openedAt: i.opened_at,
    ...(i.acknowledged_at ? { acknowledgedAt: i.acknowledged_at } : {}),
    ...(i.resolved_at ? { resolvedAt: i.resolved_at } : {}),
    updates: i.updates.map(({ id, at, body, kind }) => ({ id, at, body, state: stateThen(i, { at, kind }) })),
  }));
}

/** One update with what it is about; undefined once it is retracted. */
export async function publicUpdate(tx: Tx, org: string, id: string) {
  const u = await publicUpdateById(tx, org, id);
  return u && { incidentId: u.incident_id, serviceId: u.service_id, title: u.title, at: u.at, body: u.body, state: stateThen(u, u) };
}

/** What was published in the last so many hours, in whatever organization, oldest first. */
export const recentlyPublished = async (tx: Tx, hours: number) =>
  (await publishedWithin(tx, hours)).map(({ org_id, id, service_id, at }) => ({ org: org_id, id, serviceId: service_id, at }));

interface Times {
  status: 'open' | 'acknowledged' | 'resolved';
  acknowledged_at: string | null;
  resolved_at: string | null;
}

const stateNow = ({ status }: Times, updates: { kind: string }[]): PublicState =>
  status === 'resolved'
    ? updates.some((u) => u.kind === 'postmortem')
      ? 'postmortem'
      : 'resolved'
    : status === 'acknowledged'
      ? 'identified'
      : 'investigating';

const stateThen = ({ acknowledged_at, resolved_at }: Times, { at, kind }: { at: string; kind: string }): PublicState =>
  kind === 'postmortem'
    ? 'postmortem'
    : resolved_at && at >= resolved_at
      ? 'resolved'
      : acknowledged_at && at >= acknowledged_at
        ? 'identified'
        : 'investigating';

/** In the transaction that changes an incident's state. Only for public ones: a NOTIFY makes commits wait for each other. */
export async function tellPublic(tx: Tx, org: string, incidentId: string): Promise<void> {
  if (await isPublic(tx, org, incidentId)) await publicChanged(tx, org);
}
