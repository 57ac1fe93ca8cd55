import type { Tx } from '../../../kernel/db/index.ts';
import { runWithPause, runYielding } from '../../../kernel/yielding.ts';
import { type DeliveredAlert, type Delivery, incidentTitle } from '../rules/alerts.ts';
import { type Attachment, attach, type CountChange, countChanges, type KnownOccurrence, maxOccurrencesKept } from '../rules/attach.ts';
import * as alerts from '../store/alerts.ts';
import * as incidents from '../store/incidents.ts';
import { policyOf } from '../store/policies.ts';
import { addAllEntries, addEntries, hasRecentEntry, type IncidentEntry } from '../store/timeline.ts';
import { resolve } from './change-status.ts';
import { reactToNewAlerts } from './escalation/restart.ts';
import { type PreparedIncident, prepareIncident } from './open-incident.ts';

export interface IngestContext extends alerts.Origin {
  serviceName: string;
  origin: 'alert' | 'uptime';
  now: string;
  requestId: string | undefined;
  /** Why the alerts ended if the sender did not resolve them: a deleted monitor. */
  endedBecause?: string;
}

/** The result of a delivery. */
export interface IngestResult {
  firing: number;
  resolved: number;
  /** Seconds since the sender last reported an alert that still fires. */
  repeatSeconds: number;
}

/**
 * Stores one delivery in one transaction, with the service's deliveries locked. Every alert gets its incident, and incidents without a
 * firing alert are resolved.
 */
export async function ingest(tx: Tx, org: string, from: IngestContext, delivery: Delivery): Promise<IngestResult> {
  // Sorted by fingerprint, so that the occurrences of one alert are read by one batch and not by every batch.
  const byAlert = delivery.alerts.toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : Number(a.fingerprint > b.fingerprint)));
  const found = await inBatches(byAlert, (batch) => alerts.knownAlerts(tx, org, from, batch));
  const known = [...new Map(found.map((k) => [k.id, k])).values()]; // two batches may return the same occurrence
  const result = await attachLocked(tx, org, known, delivery.alerts, from.now);

  const updated = [
    ...[...result.touched, ...result.refired].map(({ known: { id }, alert }) => ({ id, alert, status: 'firing' as const })),
    ...result.ended.map(({ known: { id }, alert }) => ({ id, alert, status: 'resolved' as const })),
  ];
  await inBatches(updated, (batch) => alerts.updateAlerts(tx, org, batch));
  const target = result.fresh.length ? await targetOf(tx, org, from, delivery, result) : undefined;
  const entries = await deliveryEntries(tx, org, from, delivery, result, target);
  const insertFresh = async () => (target ? inBatches(result.fresh, (batch) => alerts.insertAlerts(tx, org, target.id, from, batch)) : []);
  let inserted: Awaited<ReturnType<typeof insertFresh>> = [];
  if (target?.begun)
    await target.begun.write(entries, insertFresh); // a new incident is inserted with its counts
  else [inserted] = await Promise.all([insertFresh(), addAllEntries(tx, org, entries, from.now)]);
  const changes = await runYielding(countChanges(known, result, inserted, target?.id));
  await applyCountChanges(tx, org, changes, result, target);
  const endedFingerprints = [...new Set(result.ended.map(({ alert }) => alert.fingerprint))];
  await inBatches(endedFingerprints, (batch) => alerts.deleteOldOccurrences(tx, org, from, batch, maxOccurrencesKept));
  const firing = delivery.alerts.filter((a) => a.status === 'firing').length;
  const gaps = result.touched.map(({ known: k }) => Math.floor((Date.parse(from.now) - Date.parse(k.lastAt)) / 1000));
  return { firing, resolved: delivery.alerts.length - firing, repeatSeconds: gaps.reduce((a, b) => Math.max(a, b), 0) };
}

/** Alerts in one statement. Encoding more parameters at once would block the event loop. */
const batchSize = 250;

async function inBatches<T, R>(list: readonly T[], act: (batch: readonly T[]) => Promise<readonly R[] | undefined>): Promise<R[]> {
  if (list.length <= batchSize) return list.length ? [...((await act(list)) ?? [])] : [];
  const results: R[] = [];
  for (let i = 0; i < list.length; i += batchSize) {
    const batchResults = await runWithPause(() => act(list.slice(i, i + batchSize)));
    // One by one: `push(...results)` fails with very many arguments.
    for (const result of batchResults ?? []) results.push(result);
  }
  return results;
}

/** Decides changes with the affected incidents locked: they may have been resolved since they were read. */
async function attachLocked(
  tx: Tx,
  org: string,
  known: KnownOccurrence[],
  delivered: readonly DeliveredAlert[],
  now: string,
): Promise<Attachment> {
  const first = await runYielding(attach(known, delivered, now));
  const touched = new Set([...first.refired, ...first.ended].flatMap(({ known: k }) => (k.closed ? [] : [k.incidentId])));
  if (!touched.size) return first;
  const closed = new Set((await incidents.lockStatuses(tx, org, [...touched])).filter((i) => i.status === 'resolved').map((i) => i.id));
  return closed.size
    ? runYielding(
        attach(
          known.map((k) => ({ ...k, closed: k.closed || closed.has(k.incidentId) })),
          delivered,
          now,
        ),
      )
    : first;
}

interface TargetIncident {
  id: string;
  /** Present if this delivery opens the incident. */
  begun?: PreparedIncident;
}

/** The newest unresolved incident of the service, else a new one. */
async function targetOf(tx: Tx, org: string, from: IngestContext, delivery: Delivery, { fresh }: Attachment): Promise<TargetIncident> {
  const [live, policy] = await Promise.all([incidents.lockLiveIncident(tx, org, from.serviceId), policyOf(tx, org, from.serviceId)]);
  if (live) return { id: live.id };
  const opening = fresh.map((f) => f.alert);
  const begun = await prepareIncident(
    tx,
    org,
    {
      serviceId: from.serviceId,
      serviceName: from.serviceName,
      title: incidentTitle(delivery, opening),
      description: delivery.description,
      origin: from.origin,
      actor: sourceActor(from),
      requestId: from.requestId,
      alerts: new Set(opening.map((a) => a.fingerprint)).size,
      now: from.now,
    },
    policy,
  );
  return { id: begun.incident.id, begun };
}

const sourceActor = (from: IngestContext): incidents.Actor => ({ kind: 'source', id: from.sourceId, label: from.sourceName });

/** More changes than these become one timeline entry, because people read it. */
const maxLines = 20;

async function deliveryEntries(
  tx: Tx,
  org: string,
  from: IngestContext,
  delivery: Delivery,
  result: Attachment,
  target: TargetIncident | undefined,
): Promise<IncidentEntry[]> {
  const firing = [
    ...result.fresh.map(({ alert }) => ({ alert, incidentId: target!.id })),
    ...result.refired.map(({ alert, known }) => ({ alert, incidentId: known.incidentId })),
  ];
  const ended = result.ended.flatMap(({ alert, known }) => (known.closed ? [] : [{ alert, incidentId: known.incidentId }]));
  const because = from.endedBecause ? `: ${from.endedBecause}` : '';
  const entries = [
    ...(target?.begun?.entries ?? []),
    ...changeEntries(
      from,
      'alert_firing',
      firing,
      (a) => `${a.title} fires`,
      (n) => `${n} alerts fire`,
    ),
    ...changeEntries(
      from,
      'alert_resolved',
      ended,
      (a) => `${a.title} ended${because}`,
      (n) => `${n} alerts ended${because}`,
    ),
  ];
  const leftOut = await omissionEntries(tx, org, from, delivery, result, target?.id ?? entries[0]?.incidentId);
  return [...entries, ...leftOut];
}

/** A sender repeats an unchanged delivery. Its omissions are reported once an hour. */
const omissionCooldownSeconds = 3_600;

/**
 * Entries for alerts that were not stored. They go to the incident that the delivery changes, else to the newest one whose alerts it
 * repeats.
 */
async function omissionEntries(
  tx: Tx,
  org: string,
  from: IngestContext,
  delivery: Delivery,
  { touched }: Attachment,
  changed: string | undefined,
): Promise<IncidentEntry[]> {
  const repeated = touched.flatMap(({ known }) => (known.closed ? [] : [known.incidentId])).toSorted();
  const incidentId = changed ?? repeated.at(-1); // ids sort by creation time
  if (!incidentId) return [];
  const { truncated, rejected } = delivery;
  const common = { incidentId, actor: sourceActor(from) };
  const entries: IncidentEntry[] = [];
  if (truncated)
    entries.push({
      ...common,
      kind: 'payload_truncated',
      message: `${truncated} alerts of this group were left out of the delivery; look at the sender for the whole group`,
      data: { truncated },
    });
  if (rejected?.count)
    entries.push({
      ...common,
      kind: 'alert_rejected',
      message: `${rejected.count} alerts of this delivery could not be taken in: ${rejected.problems[0]}`,
      data: { rejected: rejected.count, problems: rejected.problems },
    });
  if (changed) return entries;
  const isNews = await Promise.all(
    entries.map(async ({ kind }) => !(await hasRecentEntry(tx, org, incidentId, kind, omissionCooldownSeconds))),
  );
  return entries.filter((_, i) => isNews[i]);
}

function changeEntries(
  from: IngestContext,
  kind: string,
  changes: readonly { alert: DeliveredAlert; incidentId: string }[],
  one: (alert: DeliveredAlert) => string,
  several: (n: number) => string,
): IncidentEntry[] {
  const actor = sourceActor(from);
  if (changes.length <= maxLines)
    return changes.map(({ alert, incidentId }) => ({
      incidentId,
      kind,
      message: one(alert),
      actor,
      data: { fingerprint: alert.fingerprint },
    }));
  const counts = new Map<string, number>();
  for (const { incidentId } of changes) counts.set(incidentId, (counts.get(incidentId) ?? 0) + 1);
  return [...counts].map(([incidentId, n]) => ({ incidentId, kind, message: several(n), actor, data: { count: n } }));
}

/**
 * Stores the new counts and reacts to them. An incident is resolved when its last firing alert ends. An incident without alerts, or opened
 * by hand, is never resolved automatically.
 */
async function applyCountChanges(
  tx: Tx,
  org: string,
  changes: ReadonlyMap<string, CountChange>,
  { fresh, refired }: Attachment,
  target: TargetIncident | undefined,
) {
  const changed = [...changes].flatMap(([incidentId, c]) => (c.alerts || c.firing || c.begun ? [{ incidentId, ...c }] : []));
  if (!changed.length) return;
  for (const incident of await incidents.changeCounts(tx, org, changed)) {
    const { begun, alerts: newAlerts } = changes.get(incident.id)!;
    if (incident.status === 'resolved') continue;
    if (begun > 0) {
      const titles = [
        ...(incident.id === target?.id ? fresh : []).map(({ alert }) => alert.title),
        ...refired.flatMap(({ known, alert }) => (known.incidentId === incident.id ? [alert.title] : [])),
      ];
      const about = titles.length > 1 ? `${titles.length} more alerts fire: ${titles.slice(0, 3).join(', ')}` : `${titles[0]} fires`;
      await reactToNewAlerts(tx, org, incident, about, newAlerts > 0);
    }
    if (incident.alert_count === 0 || incident.firing_alerts > 0) continue;
    if (incident.origin === 'manual') {
      const message = 'Every alert has ended; the incident was opened by hand, so it stays until somebody resolves it';
      await addEntries(tx, org, incident.id, { kind: 'alerts_ended', message });
      continue;
    }
    await resolve(tx, org, incident.id, { kind: 'auto', label: 'Quarterdeck' }, 'Every alert has ended, so the incident is resolved');
  }
}
