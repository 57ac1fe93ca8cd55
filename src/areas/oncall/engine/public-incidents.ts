import type { Tx } from '../../../kernel/db/index.ts';
import { enqueue, type NamedJob } from '../../../kernel/jobs/index.ts';
import { publicChanged } from '../../services/index.ts';
import {
  type HistoryCursor,
  newestPublicOf,
  olderPublicOf,
  type PublicRow,
  publicStatus,
  publicUpdateById,
  type ReadLimits,
  resolvedPublicIncident,
} from '../store/public-incidents.ts';

export type { HistoryCursor };

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
  /** The last one, of a service that is gone; while it exists, ask for the name that it has now. */
  serviceName: string;
  title: string;
  state: PublicState;
  openedAt: string;
  acknowledgedAt?: string;
  resolvedAt?: string;
  updates: PublicUpdate[];
  /** How many it has; `updates` may be fewer. */
  updateCount: number;
  /** Its newest updates are not among these: they were told before. */
  isContinued?: true;
}

/** The open ones, and those that ended in the last so many days; the updates of each while there is room, the newest of each always. */
export async function publicIncidents(
  tx: Tx,
  org: string,
  serviceIds: readonly string[],
  limits: ReadLimits & { short: number },
): Promise<PublicIncident[]> {
  return incidentsOf(await newestPublicOf(tx, org, serviceIds, limits, limits.short));
}

/** Those opened before, the newest first. */
export async function olderPublicIncidents(
  tx: Tx,
  org: string,
  serviceIds: readonly string[],
  from: HistoryCursor,
  limits: ReadLimits,
): Promise<{ incidents: PublicIncident[]; hasMore: boolean }> {
  const found = await olderPublicOf(tx, org, serviceIds, from, limits);
  return { incidents: incidentsOf(found), hasMore: found[0]?.has_more ?? false };
}

const incidentsOf = (found: readonly (PublicRow & { nth?: number })[]): PublicIncident[] =>
  [...Map.groupBy(found, (u) => u.incident_id).values()].map((updates) => {
    const i = updates[0]!;
    return {
      id: i.incident_id,
      serviceId: i.service_id,
      serviceName: i.service_name,
      title: i.title,
      state: stateNow(i),
      openedAt: i.opened_at,
      ...(i.acknowledged_at ? { acknowledgedAt: i.acknowledged_at } : {}),
      ...(i.resolved_at ? { resolvedAt: i.resolved_at } : {}),
      updates: updates.map((u) => ({ id: u.id, at: u.at, body: u.body, state: stateThen(u, u) })),
      updateCount: i.updates,
      ...(i.nth !== undefined && i.nth > 1 ? { isContinued: true as const } : {}),
    };
  });

/** One update with what it is about; undefined once it is retracted. */
export async function publicUpdate(tx: Tx, org: string, id: string) {
  const u = await publicUpdateById(tx, org, id);
  return (
    u && {
      incidentId: u.incident_id,
      serviceId: u.service_id,
      serviceName: u.service_name,
      title: u.title,
      at: u.at,
      body: u.body,
      state: stateThen(u, u),
    }
  );
}

/** An incident that the public knows of and that is over; undefined when it is not. */
export async function publicResolution(tx: Tx, org: string, incidentId: string) {
  const i = await resolvedPublicIncident(tx, org, incidentId);
  return (
    i && {
      serviceId: i.service_id,
      serviceName: i.service_name,
      title: i.title,
      openedAt: i.opened_at,
      at: i.resolved_at,
      isTold: i.is_told,
    }
  );
}

interface Times {
  status: 'open' | 'acknowledged' | 'resolved';
  acknowledged_at: string | null;
  resolved_at: string | null;
}

const stateNow = ({ status, has_postmortem }: Times & { has_postmortem: boolean }): PublicState =>
  status === 'resolved' ? (has_postmortem ? 'postmortem' : 'resolved') : status === 'acknowledged' ? 'identified' : 'investigating';

const stateThen = ({ acknowledged_at, resolved_at }: Times, { at, kind }: { at: string; kind: string }): PublicState =>
  kind === 'postmortem'
    ? 'postmortem'
    : resolved_at && at >= resolved_at
      ? 'resolved'
      : acknowledged_at && at >= acknowledged_at
        ? 'identified'
        : 'investigating';

/** Left for status pages when an incident that the public knows of is resolved, by its id: as with updates. */
export const incidentResolved: NamedJob = { kind: 'status.announce-resolution', lane: 'default' };

/** In the transaction that changes an incident's state. Only for public ones: a NOTIFY makes commits wait for each other. */
export async function notifyStatusPages(tx: Tx, org: string, incidentId: string): Promise<void> {
  const known = await publicStatus(tx, org, incidentId);
  if (!known) return;
  await publicChanged(tx, org);
  if (known.status === 'resolved') await enqueue(tx, incidentResolved, { key: incidentId, org });
}
