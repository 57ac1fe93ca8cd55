// Where each alert of a delivery belongs. State is kept for each fingerprint: a group's own status says nothing of its alerts.
import type { Delivered } from './alerts.ts';

/** What is known of an occurrence (source, fingerprint, startsAt). */
export interface Known {
  id: string;
  incidentId: string;
  fingerprint: string;
  startsAt: string;
  status: 'firing' | 'resolved';
  /** Its incident is resolved: nothing can be attached to that any more. */
  closed: boolean;
}

export interface Attachment {
  /** Heard of again, nothing new. */
  touched: { id: string; alert: Delivered }[];
  /** Fire again on the incident where they fired before. */
  refired: { known: Known; alert: Delivered }[];
  /** Belong to the newest unresolved incident of the service, or open one. */
  fresh: { alert: Delivered; startsAt: string }[];
  ended: { known: Known; alert: Delivered }[];
}

/**
 * By order of arrival, not by the times inside: a restarted Prometheus reuses `startsAt`. An occurrence that sits on a resolved
 * incident is left there as long as it goes on firing; a new one, or one that ended and fires again, is somebody's work again.
 */
export function attach(known: readonly Known[], delivered: readonly Delivered[], now: string): Attachment {
  const state = new Map<string, Known[]>();
  for (const k of known) state.set(k.fingerprint, [...(state.get(k.fingerprint) ?? []), k]);
  const result: Attachment = { touched: [], refired: [], fresh: [], ended: [] };
  for (const alert of lastOfEach(delivered)) {
    const rows = state.get(alert.fingerprint) ?? [];
    if (alert.status === 'resolved') {
      // What began later than the one that ended is another occurrence, and goes on.
      const over = rows.filter((k) => k.status === 'firing' && (alert.startsAt === undefined || k.startsAt <= alert.startsAt));
      for (const k of over) result.ended.push({ known: k, alert });
      continue;
    }
    const startsAt = alert.startsAt ?? rows.find((k) => k.status === 'firing')?.startsAt ?? now;
    // An occurrence may have ended on one incident and fired again on a later one: ids sort by time.
    const same = rows.filter((k) => k.startsAt === startsAt).sort((a, b) => (a.id < b.id ? 1 : -1))[0];
    if (same?.status === 'firing') result.touched.push({ id: same.id, alert });
    else if (same && !same.closed) result.refired.push({ known: same, alert });
    else result.fresh.push({ alert, startsAt });
  }
  return result;
}

/** One delivery that names an occurrence twice means what it says last. */
function lastOfEach(delivered: readonly Delivered[]): Delivered[] {
  const last = new Map<string, Delivered>();
  for (const alert of delivered) {
    const key = `${alert.fingerprint} ${alert.startsAt ?? ''}`;
    last.delete(key);
    last.set(key, alert);
  }
  return [...last.values()];
}
