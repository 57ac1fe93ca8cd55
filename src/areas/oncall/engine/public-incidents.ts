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

/** The public state of an incident, now or when an update was written. */
export type PublicState = 'investigating' | 'identified' | 'resolved' | 'postmortem';

export interface PublicUpdate {
  id: string;
  at: string;
  body: string;
  state: PublicState;
}

/** The public part of an incident. It has at least one update, newest first. */
export interface PublicIncident {
  id: string;
  serviceId: string;
  /** The last name, if the service is deleted. Callers look up the current name of an existing service. */
  serviceName: string;
  title: string;
  state: PublicState;
  openedAt: string;
  acknowledgedAt?: string;
  resolvedAt?: string;
  updates: PublicUpdate[];
  /** All updates of the incident; `updates` may hold fewer. */
  updateCount: number;
  /** The newest updates are on an earlier history page. */
  isContinued?: true;
}

/** Open incidents, and those resolved in the last `pastDays`. Each has its newest update, and older ones within the limits. */
export async function publicIncidents(
  tx: Tx,
  org: string,
  serviceIds: readonly string[],
  limits: ReadLimits & { short: number },
): Promise<PublicIncident[]> {
  return incidentsOf(await newestPublicOf(tx, org, serviceIds, limits, limits.short));
}

/** Incidents opened before the cursor, newest first. */
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

/** One update with its incident; undefined once it is retracted. */
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

/** A resolved public incident; undefined if it is not public or not resolved. */
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

/** Enqueued for status pages when a public incident is resolved; the key is the incident's id. */
export const incidentResolved: NamedJob = { kind: 'status.announce-resolution', lane: 'default' };

/** Runs in the transaction that changes an incident's status. Only public incidents notify: a NOTIFY serializes commits. */
export async function notifyStatusPages(tx: Tx, org: string, incidentId: string): Promise<void> {
  const known = await publicStatus(tx, org, incidentId);
  if (!known) return;
  await publicChanged(tx, org);
  if (known.status === 'resolved') await enqueue(tx, incidentResolved, { key: incidentId, org });
}
