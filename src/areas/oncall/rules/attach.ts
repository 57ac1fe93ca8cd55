// Where each alert of a delivery belongs. State is kept for each fingerprint: a group's own status says nothing of its alerts.
import { forEachStep, type Steps } from '../../../kernel/steps.ts';
import type { DeliveredAlert } from './alerts.ts';

/** What is known of an occurrence (source, fingerprint, startsAt). */
export interface KnownOccurrence {
  id: string;
  incidentId: string;
  fingerprint: string;
  startsAt: string;
  status: 'firing' | 'resolved';
  /** Its incident is resolved: nothing can be attached to that any more. */
  closed: boolean;
  /** When it was last heard of. */
  lastAt: string;
}

/**
 * Occurrences of one alert from one source that are kept: so many that fire, and of those that ended the newest. A sender that gives every
 * delivery another `startsAt` makes no more rows than these.
 */
export const maxOccurrencesKept = 100;

export interface NewOccurrence {
  alert: DeliveredAlert;
  startsAt: string;
}

export interface Attachment {
  /** Heard of again, nothing new. */
  touched: { known: KnownOccurrence; alert: DeliveredAlert }[];
  /** Fire again on the incident where they fired before. */
  refired: { known: KnownOccurrence; alert: DeliveredAlert }[];
  /** Belong to the newest unresolved incident of the service, or open one. */
  fresh: NewOccurrence[];
  ended: { known: KnownOccurrence; alert: DeliveredAlert }[];
}

/**
 * By order of arrival, not by the times inside: a restarted Prometheus reuses `startsAt`. An occurrence that sits on a resolved
 * incident is left there as long as it goes on firing; a new one, or one that ended and fires again, is somebody's work again. In steps:
 * a delivery may have ten thousand alerts.
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
    // An occurrence may have ended on one incident and fired again on a later one: ids sort by time.
    const same = newestOf(rows.filter((k) => k.startsAt === startsAt));
    const open = same ? [] : rows.filter((k) => statusOf(k) === 'firing' && !k.closed);
    if (same && (statusOf(same) === 'firing' || !same.closed)) heard.set(same, { status: 'firing', alert });
    else if (open.length >= maxOccurrencesKept)
      heard.set(newestOf(open)!, { status: 'firing', alert }); // it fires, more need not be known
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
 * What began before the end is over with it, whichever beginning the end names: replicas of a sender evaluate at different moments,
 * and each gives its own. What began later is another occurrence, and goes on.
 */
const isOver = ({ startsAt }: { startsAt: string }, { startsAt: named, endsAt, isOneOccurrence }: DeliveredAlert): boolean =>
  (named === undefined ? endsAt === undefined : startsAt <= named) || (!isOneOccurrence && endsAt !== undefined && startsAt < endsAt);

/** By how much an incident's numbers change. */
export interface CountChange {
  /** Occurrences. */
  alerts: number;
  /** Fingerprints of which something fires: those that began less those that ended. */
  firing: number;
  /** Fingerprints that began to fire, whatever ended beside them. */
  begun: number;
}

/**
 * What a delivery does to the numbers of incidents, without counting anything but the delivery: `known` holds every firing occurrence
 * of the fingerprints in it, and deliveries for one service come one at a time. `inserted` went to the incident `targetId`.
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

/** One delivery that names an occurrence twice means what it says last. */
function* lastOfEach(delivered: readonly DeliveredAlert[]): Steps<DeliveredAlert[]> {
  const last = new Map<string, DeliveredAlert>();
  yield* forEachStep(delivered, (alert) => {
    const key = `${alert.fingerprint} ${alert.startsAt ?? ''}`;
    last.delete(key);
    last.set(key, alert);
  });
  return [...last.values()];
}
