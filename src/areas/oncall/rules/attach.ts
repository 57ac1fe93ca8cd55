// Assigns each alert of a delivery to an incident. State is kept per fingerprint, because a group's status says nothing about its alerts.
import { forEachStep, type Steps } from '../../../kernel/steps.ts';
import type { DeliveredAlert } from './alerts.ts';

/** A stored occurrence (source, fingerprint, startsAt). */
export interface KnownOccurrence {
  id: string;
  incidentId: string;
  fingerprint: string;
  startsAt: string;
  status: 'firing' | 'resolved';
  /** The incident is resolved, so no alert can be attached to it. */
  closed: boolean;
  /** Time of the last delivery that contained it. */
  lastAt: string;
}

/**
 * Stored occurrences of one alert from one source: this many firing, and this many of the newest ended. It bounds the rows of a sender that
 * changes `startsAt` in every delivery.
 */
export const maxOccurrencesKept = 100;

export interface NewOccurrence {
  alert: DeliveredAlert;
  startsAt: string;
}

export interface Attachment {
  /** Repeated without a change. */
  touched: { known: KnownOccurrence; alert: DeliveredAlert }[];
  /** Firing again on the incident where they fired before. */
  refired: { known: KnownOccurrence; alert: DeliveredAlert }[];
  /** Go to the newest unresolved incident of the service, or open one. */
  fresh: NewOccurrence[];
  ended: { known: KnownOccurrence; alert: DeliveredAlert }[];
}

/**
 * Applies alerts in order of arrival, not by their times: a restarted Prometheus reuses `startsAt`. An occurrence on a resolved incident
 * stays there while it keeps firing. A new occurrence, or one that ended and fires again, needs an incident again. Runs in steps, because a
 * delivery may have 10,000 alerts.
 */
export function* attach(known: readonly KnownOccurrence[], delivered: readonly DeliveredAlert[], now: string): Steps<Attachment> {
  const rowsOf = new Map<string, KnownOccurrence[]>();
  yield* forEachStep(known, (k) => {
    const others = rowsOf.get(k.fingerprint);
    if (others) others.push(k);
    else rowsOf.set(k.fingerprint, [k]);
  });
  const freshOf = new Map<string, NewOccurrence[]>();
  const heard = new Map<KnownOccurrence, { status: KnownOccurrence['status']; alert: DeliveredAlert }>();
  const statusOf = (k: KnownOccurrence) => heard.get(k)?.status ?? k.status;
  const place = (alert: DeliveredAlert) => {
    const rows = rowsOf.get(alert.fingerprint) ?? [];
    const fresh = freshOf.get(alert.fingerprint) ?? [];
    if (alert.status === 'resolved') {
      for (const k of rows) if (statusOf(k) === 'firing' && isOver(k, alert)) heard.set(k, { status: 'resolved', alert });
      freshOf.set(
        alert.fingerprint,
        fresh.filter((f) => !isOver(f, alert)),
      );
      return;
    }
    const startsAt = alert.startsAt ?? rows.find((k) => statusOf(k) === 'firing')?.startsAt ?? now;
    // An occurrence may have ended on one incident and fired again on a later one; ids sort by creation time.
    const same = newestOf(rows.filter((k) => k.startsAt === startsAt));
    const open = same ? [] : rows.filter((k) => statusOf(k) === 'firing' && !k.closed);
    if (same && (statusOf(same) === 'firing' || !same.closed)) heard.set(same, { status: 'firing', alert });
    else if (open.length >= maxOccurrencesKept)
      heard.set(newestOf(open)!, { status: 'firing', alert }); // at the limit, the newest one stands for all
    else freshOf.set(alert.fingerprint, [...fresh, { alert, startsAt }]);
  };
  yield* forEachStep(yield* lastOfEach(delivered), place);
  const result: Attachment = { touched: [], refired: [], fresh: [...freshOf.values()].flat(), ended: [] };
  yield* forEachStep(heard, ([k, { status, alert }]) => {
    if (status === 'firing' && k.status === 'firing') result.touched.push({ known: k, alert });
    else if (status !== k.status) (status === 'firing' ? result.refired : result.ended).push({ known: k, alert });
  });
  return result;
}

const newestOf = (some: readonly KnownOccurrence[]) =>
  some.reduce((a, b) => (a && a.id > b.id ? a : b), undefined as KnownOccurrence | undefined);

/**
 * An end resolves every occurrence that began before it, whichever beginning it names: replicas of a sender evaluate at different moments
 * and name different beginnings. A later occurrence keeps firing.
 */
const isOver = ({ startsAt }: { startsAt: string }, { startsAt: named, endsAt, isOneOccurrence }: DeliveredAlert): boolean =>
  (named === undefined ? endsAt === undefined : startsAt <= named) || (!isOneOccurrence && endsAt !== undefined && startsAt < endsAt);

/** The change of an incident's counts. */
export interface CountChange {
  /** Occurrences. */
  alerts: number;
  /** Change in the number of firing fingerprints. */
  firing: number;
  /** Fingerprints that began to fire, not reduced by those that ended. */
  begun: number;
}

/**
 * Computes count changes from the delivery alone. `known` holds every firing occurrence of its fingerprints, and deliveries for one service
 * are serialized. `inserted` went to the incident `targetId`.
 */
export function* countChanges(
  known: readonly KnownOccurrence[],
  { refired, ended }: Attachment,
  inserted: readonly { fingerprint: string }[],
  targetId: string | undefined,
): Steps<Map<string, CountChange>> {
  const changes = new Map<string, CountChange>();
  const firing = new Map<string, { incidentId: string; before: number; after: number }>();
  const at = (incidentId: string, fingerprint: string) => {
    const key = `${incidentId} ${fingerprint}`;
    const here = firing.get(key) ?? { incidentId, before: 0, after: 0 };
    firing.set(key, here);
    return here;
  };
  yield* forEachStep(known, (k) => {
    if (k.status !== 'firing') return;
    const here = at(k.incidentId, k.fingerprint);
    here.before++;
    here.after++;
  });
  yield* forEachStep(ended, ({ known: k }) => at(k.incidentId, k.fingerprint).after--);
  yield* forEachStep(refired, ({ known: k }) => at(k.incidentId, k.fingerprint).after++);
  yield* forEachStep(inserted, ({ fingerprint }) => at(targetId!, fingerprint).after++);
  for (const { incidentId, before, after } of firing.values()) {
    const change = changes.get(incidentId) ?? { alerts: 0, firing: 0, begun: 0 };
    change.firing += Number(after > 0) - Number(before > 0);
    change.begun += Number(after > 0 && before === 0);
    changes.set(incidentId, change);
  }
  if (inserted.length) changes.get(targetId!)!.alerts += inserted.length;
  return changes;
}

/** If a delivery names an occurrence twice, the last one counts. */
function* lastOfEach(delivered: readonly DeliveredAlert[]): Steps<DeliveredAlert[]> {
  const last = new Map<string, DeliveredAlert>();
  yield* forEachStep(delivered, (alert) => {
    const key = `${alert.fingerprint} ${alert.startsAt ?? ''}`;
    last.delete(key);
    last.set(key, alert);
  });
  return [...last.values()];
}
