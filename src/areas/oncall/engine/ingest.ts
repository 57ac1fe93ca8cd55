import type { Tx } from '../../../kernel/db/index.ts';
import { runWithPause, runYielding } from '../../../kernel/yielding.ts';
import { type Delivered, type Delivery, incidentTitle } from '../rules/alerts.ts';
import { type Attachment, attach, type CountChange, countChanges, type Known, mostOccurrences } from '../rules/attach.ts';
import * as alerts from '../store/alerts.ts';
import * as incidents from '../store/incidents.ts';
import { policyOf } from '../store/policies.ts';
import { isToldLately, type Line, note, noteAll } from '../store/timeline.ts';
import { type Begun, begin } from './open-incident.ts';
import { resolve } from './settle.ts';
import { hearNewAlerts } from './walk/again.ts';

export interface Receiving extends alerts.Origin {
  serviceName: string;
  origin: 'alert' | 'uptime';
  now: string;
  requestId: string | undefined;
  /** Why they ended, where the sender's own word is not the reason: a monitor that was deleted. */
  endedBecause?: string;
}

/** What a delivery came to. */
export interface Taken {
  firing: number;
  resolved: number;
  /** How long ago the sender had last spoken of an alert that goes on firing. */
  repeatSeconds: number;
}

/** Takes one delivery in, with the service's deliveries locked: every alert finds its incident, and incidents without a firing alert are resolved. One transaction. */
export async function ingest(tx: Tx, org: string, from: Receiving, delivery: Delivery): Promise<Taken> {
  // In the order of their alerts: what is found of one that has very many occurrences is asked for once, not by every portion.
  const byAlert = delivery.alerts.toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : Number(a.fingerprint > b.fingerprint)));
  const found = await inPortions(byAlert, (some) => alerts.knownAlerts(tx, org, from, some));
  const known = [...new Map(found.map((k) => [k.id, k])).values()]; // occurrences of one alert may lie in several portions
  const result = await settled(tx, org, known, delivery.alerts, from.now);

  const heard = [
    ...[...result.touched, ...result.refired].map(({ known: { id }, alert }) => ({ id, alert, status: 'firing' as const })),
    ...result.ended.map(({ known: { id }, alert }) => ({ id, alert, status: 'resolved' as const })),
  ];
  await inPortions(heard, (some) => alerts.hearAgain(tx, org, some));
  const target = result.fresh.length ? await targetOf(tx, org, from, delivery, result) : undefined;
  const told = await linesOf(tx, org, from, delivery, result, target);
  const insertFresh = async () => (target ? inPortions(result.fresh, (some) => alerts.insertAlerts(tx, org, target.id, from, some)) : []);
  let inserted: Awaited<ReturnType<typeof insertFresh>> = [];
  if (target?.begun)
    await target.begun.write(told, insertFresh); // an incident that opens is made with its counts
  else [inserted] = await Promise.all([insertFresh(), noteAll(tx, org, told, from.now)]);
  const changes = await runYielding(countChanges(known, result, inserted, target?.id));
  await react(tx, org, changes, result, target);
  const over = [...new Set(result.ended.map(({ alert }) => alert.fingerprint))];
  await inPortions(over, (some) => alerts.forgetOldOccurrences(tx, org, from, some, mostOccurrences));
  const firing = delivery.alerts.filter((a) => a.status === 'firing').length;
  const gaps = result.touched.map(({ known: k }) => Math.floor((Date.parse(from.now) - Date.parse(k.lastAt)) / 1000));
  return { firing, resolved: delivery.alerts.length - firing, repeatSeconds: gaps.reduce((a, b) => Math.max(a, b), 0) };
}

/** So many alerts go into one statement: writing and reading its parameters keeps everybody else waiting. */
const portion = 250;

async function inPortions<T, R>(list: readonly T[], act: (some: readonly T[]) => Promise<readonly R[] | undefined>): Promise<R[]> {
  if (list.length <= portion) return list.length ? [...((await act(list)) ?? [])] : [];
  const results: R[] = [];
  for (let i = 0; i < list.length; i += portion) {
    const some = await runWithPause(() => act(list.slice(i, i + portion)));
    // One by one: what very many occurrences of an alert give is more than a call takes as arguments.
    for (const result of some ?? []) results.push(result);
  }
  return results;
}

/** What changes an incident is decided with that incident locked: it may have been resolved since it was read. */
async function settled(tx: Tx, org: string, known: Known[], delivered: readonly Delivered[], now: string): Promise<Attachment> {
  const first = await runYielding(attach(known, delivered, now));
  const touched = new Set([...first.refired, ...first.ended].flatMap(({ known: k }) => (k.closed ? [] : [k.incidentId])));
  if (!touched.size) return first;
  const closed = new Set((await incidents.lockIncidents(tx, org, [...touched])).filter((i) => i.status === 'resolved').map((i) => i.id));
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

interface Goal {
  id: string;
  /** When this delivery opens it. */
  begun?: Begun;
}

/** The newest incident of the service that is not resolved, else a new one. */
async function targetOf(tx: Tx, org: string, from: Receiving, delivery: Delivery, { fresh }: Attachment): Promise<Goal> {
  const [live, policy] = await Promise.all([incidents.lockLiveIncident(tx, org, from.serviceId), policyOf(tx, org, from.serviceId)]);
  if (live) return { id: live.id };
  const opening = fresh.map((f) => f.alert);
  const begun = await begin(
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

const sourceActor = (from: Receiving): incidents.Actor => ({ kind: 'source', id: from.sourceId, label: from.sourceName });

/** A storm is one line: a timeline is for people. */
const mostLines = 20;

async function linesOf(
  tx: Tx,
  org: string,
  from: Receiving,
  delivery: Delivery,
  result: Attachment,
  target: Goal | undefined,
): Promise<Line[]> {
  const firing = [
    ...result.fresh.map(({ alert }) => ({ alert, incidentId: target!.id })),
    ...result.refired.map(({ alert, known }) => ({ alert, incidentId: known.incidentId })),
  ];
  const ended = result.ended.flatMap(({ alert, known }) => (known.closed ? [] : [{ alert, incidentId: known.incidentId }]));
  const because = from.endedBecause ? `: ${from.endedBecause}` : '';
  const entries = [
    ...(target?.begun?.entries ?? []),
    ...lines(
      from,
      'alert_firing',
      firing,
      (a) => `${a.title} fires`,
      (n) => `${n} alerts fire`,
    ),
    ...lines(
      from,
      'alert_resolved',
      ended,
      (a) => `${a.title} ended${because}`,
      (n) => `${n} alerts ended${because}`,
    ),
  ];
  const leftOut = await tellLeftOut(tx, org, from, delivery, result, target?.id ?? entries[0]?.incidentId);
  return [...entries, ...leftOut];
}

/** A delivery that changes nothing comes again and again: what it lacks is told once an hour. */
const toldAgainSeconds = 3_600;

/** What of a delivery was not taken in, in the incident that it changes, or else in the newest one whose alerts it repeats. */
async function tellLeftOut(
  tx: Tx,
  org: string,
  from: Receiving,
  delivery: Delivery,
  { touched }: Attachment,
  changed: string | undefined,
): Promise<Line[]> {
  const repeated = touched.flatMap(({ known }) => (known.closed ? [] : [known.incidentId])).toSorted();
  const incidentId = changed ?? repeated.at(-1); // ids sort by time
  if (!incidentId) return [];
  const { truncated, rejected } = delivery;
  const common = { incidentId, actor: sourceActor(from) };
  const told: Line[] = [];
  if (truncated)
    told.push({
      ...common,
      kind: 'payload_truncated',
      message: `${truncated} alerts of this group were left out of the delivery; look at the sender for the whole group`,
      data: { truncated },
    });
  if (rejected?.count)
    told.push({
      ...common,
      kind: 'alert_rejected',
      message: `${rejected.count} alerts of this delivery could not be taken in: ${rejected.problems[0]}`,
      data: { rejected: rejected.count, problems: rejected.problems },
    });
  if (changed) return told;
  const isNews = await Promise.all(told.map(async ({ kind }) => !(await isToldLately(tx, org, incidentId, kind, toldAgainSeconds))));
  return told.filter((_, i) => isNews[i]);
}

function lines(
  from: Receiving,
  kind: string,
  changes: readonly { alert: Delivered; incidentId: string }[],
  one: (alert: Delivered) => string,
  many: (n: number) => string,
): Line[] {
  const actor = sourceActor(from);
  if (changes.length <= mostLines)
    return changes.map(({ alert, incidentId }) => ({
      incidentId,
      kind,
      message: one(alert),
      actor,
      data: { fingerprint: alert.fingerprint },
    }));
  const counts = new Map<string, number>();
  for (const { incidentId } of changes) counts.set(incidentId, (counts.get(incidentId) ?? 0) + 1);
  return [...counts].map(([incidentId, n]) => ({ incidentId, kind, message: many(n), actor, data: { count: n } }));
}

/** What the new numbers of incidents lead to. One with alerts of which none fires any more is over; one without alerts, or opened by hand, never is by itself. */
async function react(
  tx: Tx,
  org: string,
  changes: ReadonlyMap<string, CountChange>,
  { fresh, refired }: Attachment,
  target: Goal | undefined,
) {
  const changed = [...changes].flatMap(([incidentId, c]) => (c.alerts || c.firing || c.begun ? [{ incidentId, ...c }] : []));
  if (!changed.length) return;
  for (const incident of await incidents.changeCounts(tx, org, changed)) {
    const { begun, alerts: more } = changes.get(incident.id)!;
    if (incident.status === 'resolved') continue;
    if (begun > 0) {
      const titles = [
        ...(incident.id === target?.id ? fresh : []).map(({ alert }) => alert.title),
        ...refired.flatMap(({ known, alert }) => (known.incidentId === incident.id ? [alert.title] : [])),
      ];
      const about = titles.length > 1 ? `${titles.length} more alerts fire: ${titles.slice(0, 3).join(', ')}` : `${titles[0]} fires`;
      await hearNewAlerts(tx, org, incident, about, more > 0);
    }
    if (incident.alert_count === 0 || incident.firing_alerts > 0) continue;
    if (incident.origin === 'manual') {
      const message = 'Every alert has ended; the incident was opened by hand, so it stays until somebody resolves it';
      await note(tx, org, incident.id, { kind: 'alerts_ended', message });
      continue;
    }
    await resolve(tx, org, incident.id, { kind: 'auto', label: 'Quarterdeck' }, 'Every alert has ended, so the incident is resolved');
  }
}
