// Converts the webhooks of Alertmanager and Prometheus to one shape. Odd input is accepted as far as possible, because a refused delivery
// is a page that is never sent.
import { createHash } from 'node:crypto';
import { mapInSteps, type Steps } from '../../../kernel/steps.ts';

type TextMap = Record<string, string>;

/** One alert of a delivery. */
export interface DeliveredAlert {
  fingerprint: string;
  status: 'firing' | 'resolved';
  title: string;
  labels: TextMap;
  annotations: TextMap;
  generatorUrl: string | undefined;
  /** Absent if the sender gave none, or an invalid one. */
  startsAt: string | undefined;
  endsAt: string | undefined;
  /** From a monitor, where each outage has one beginning. An end resolves the outage it names, and earlier ones. */
  isOneOccurrence?: true;
  /** The alert is stale after this time without news. Prometheus sends the time; for Alertmanager it follows from its repeat interval. */
  leaseUntil: string | undefined;
}

export interface Delivery {
  alerts: DeliveredAlert[];
  /** Alerts left out by the sender or by our limit. */
  truncated: number;
  /** The group's summary, for the title of a new incident. */
  summary: string | undefined;
  description: string | undefined;
  /** Invalid alerts, with the first reasons. */
  rejected?: { count: number; problems: readonly string[] };
}

/** One validated alert in the sender's shape. */
export interface ReceivedAlert {
  labels: TextMap;
  /** The full labels, if `labels` was truncated. */
  fingerprintLabels?: TextMap;
  annotations?: TextMap;
  startsAt?: string;
  endsAt?: string;
  generatorURL?: string;
  status?: string;
  fingerprint?: string;
}

/** More than a real Alertmanager group has. The rest is left out, and the timeline says so. */
export const maxAlertsPerDelivery = 10_000;
/** Alertmanager's `resolve_timeout`: the lifetime of an alert without an end time. */
const defaultLeaseMs = 300_000;

/** The group fields in use beside the alerts. */
export interface Group {
  status?: unknown;
  truncatedAlerts?: unknown;
  commonAnnotations?: unknown;
}

export function* fromAlertmanager(
  group: Group,
  alerts: readonly ReceivedAlert[],
  omitted: number,
  now: string,
  staleAt: string,
): Steps<Delivery> {
  const truncated = Number.isSafeInteger(group.truncatedAlerts) ? (group.truncatedAlerts as number) : 0;
  const annotations = (group.commonAnnotations ?? {}) as Record<string, unknown>;
  return {
    alerts: yield* mapInSteps(alerts, (alert): DeliveredAlert => {
      const endsAt = time(alert.endsAt);
      const word: unknown = alert.status ?? (endsAt !== undefined && endsAt <= now ? 'resolved' : (group.status ?? 'firing'));
      const status = word === 'resolved' ? 'resolved' : 'firing';
      return {
        ...common(alert),
        status,
        endsAt: status === 'resolved' ? (endsAt ?? now) : undefined,
        leaseUntil: status === 'firing' ? staleAt : undefined,
      };
    }),
    truncated: omitted + Math.min(Math.max(0, truncated), 2_000_000_000),
    summary: text(annotations.summary),
    description: text(annotations.description),
  };
}

/** In this protocol `endsAt` of a firing alert is the end of its lease, and of a resolved alert its real end. */
export function* fromPrometheus(alerts: readonly ReceivedAlert[], omitted: number, now: string): Steps<Delivery> {
  return {
    alerts: yield* mapInSteps(alerts, (alert): DeliveredAlert => {
      const endsAt = time(alert.endsAt);
      const resolved = endsAt !== undefined && endsAt <= now;
      const leaseUntil = resolved ? undefined : (endsAt ?? new Date(Date.parse(now) + defaultLeaseMs).toISOString());
      return { ...common(alert), status: resolved ? 'resolved' : 'firing', endsAt: resolved ? endsAt : undefined, leaseUntil };
    }),
    truncated: omitted,
    summary: shared(alerts, 'summary'),
    description: shared(alerts, 'description'),
  };
}

const shared = (alerts: readonly ReceivedAlert[], name: string): string | undefined => {
  const values = new Set(alerts.map((a) => a.annotations?.[name]));
  return values.size === 1 ? text([...values][0]) : undefined;
};

const common = (alert: ReceivedAlert) => ({
  fingerprint: fingerprintOf(alert),
  title: titleOf(alert),
  labels: alert.labels,
  annotations: alert.annotations ?? {},
  generatorUrl: text(alert.generatorURL),
  startsAt: time(alert.startsAt),
});

const titleOf = ({ labels, annotations = {} }: ReceivedAlert) =>
  truncate(
    text(annotations.summary) ?? text(labels.alertname) ?? (text(Object.values(labels).join(' ')) || 'an alert without labels'),
    200,
  );

/** The sender's fingerprint if usable, else a hash of the labels, which is stable across groups, restarts and replicas. */
export function fingerprintOf({
  fingerprint,
  labels,
  fingerprintLabels,
}: Pick<ReceivedAlert, 'fingerprint' | 'labels' | 'fingerprintLabels'>): string {
  if (fingerprint && fingerprint.length <= 128) return fingerprint;
  const sorted = Object.entries(fingerprintLabels ?? labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([fingerprint ?? null, sorted]))
    .digest('hex')
    .slice(0, 16);
}

/** Go's zero time `0001-01-01T00:00:00Z`, and dates outside our range, count as absent. */
function time(given: string | undefined): string | undefined {
  if (!given || !/^(19[7-9]\d|[2-9]\d{3})-\d\d-\d\dT/.test(given)) return undefined;
  const ms = Date.parse(given);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** Non-text becomes undefined. Text is truncated, because people read no more than a page of it. */
const text = (given: unknown): string | undefined =>
  typeof given === 'string' ? truncate(given.trim(), 10_000).replaceAll('\0', '\ufffd').toWellFormed() || undefined : undefined;
/** Never ends with half of a surrogate pair. */
export const truncate = (given: string, maxLength: number) =>
  given.length <= maxLength ? given : `${given.slice(0, maxLength - 1)}…`.toWellFormed();

/** The title of an incident that these alerts open: the group's summary, else the alert names with their number. */
export function incidentTitle(delivery: Delivery, opening: readonly DeliveredAlert[]): string {
  const [first] = opening;
  if (opening.length === 1) return first!.title;
  if (delivery.summary) return truncate(delivery.summary, 200);
  const names = [...new Set(opening.map((a) => a.labels.alertname ?? a.title))];
  const named = names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(', ');
  return `${truncate(named, 180)} (${opening.length})`;
}
