// What deliveries mean: Alertmanager's webhook and Prometheus's own, brought to one shape. Whatever is odd is taken in as far as
// it goes, for a refused delivery is a page that nobody gets.
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
  /** Absent when the sender did not say, or said nonsense. */
  startsAt: string | undefined;
  endsAt: string | undefined;
  /** From a monitor, which gives every outage one beginning: an end is of the outage that it names, and of earlier ones. */
  isOneOccurrence?: true;
  /** Without a word until then, the alert is stale: by Prometheus's own word, or by how often an Alertmanager repeats itself. */
  leaseUntil: string | undefined;
}

export interface Delivery {
  alerts: DeliveredAlert[];
  /** How many the sender, or we, left out. */
  truncated: number;
  /** Of the group, for the title of an incident that it opens. */
  summary: string | undefined;
  description: string | undefined;
  /** Alerts that could not be taken in, with the first reasons. */
  rejected?: { count: number; problems: readonly string[] };
}

/** One alert as it was sent, once it was looked at. */
export interface ReceivedAlert {
  labels: TextMap;
  /** The labels in full, where `labels` was shortened. */
  fingerprintLabels?: TextMap;
  annotations?: TextMap;
  startsAt?: string;
  endsAt?: string;
  generatorURL?: string;
  status?: string;
  fingerprint?: string;
}

/** More alerts than any group of a living Alertmanager has; the rest is left out, and the timeline says so. */
export const maxAlertsPerDelivery = 10_000;
/** Alertmanager's own `resolve_timeout`: how long an alert lives whose sender does not say. */
const defaultLeaseMs = 300_000;

/** What of the group is used beside its alerts, whatever else it says. */
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

/** Here an alert that fires brings the end of its lease as `endsAt`, and one that is over its real end. */
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

/** The sender's own where there is a usable one, else a hash of the labels: stable across groups, restarts and replicas. */
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

/** Zero in Go's words, `0001-01-01T00:00:00Z`, and whatever no calendar of ours holds, are no times. */
function time(given: string | undefined): string | undefined {
  if (!given || !/^(19[7-9]\d|[2-9]\d{3})-\d\d-\d\dT/.test(given)) return undefined;
  const ms = Date.parse(given);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** Of whatever was sent: what is not text is nothing, and nobody reads more than a page of it. */
const text = (given: unknown): string | undefined =>
  typeof given === 'string' ? truncate(given.trim(), 10_000).replaceAll('\0', '\ufffd').toWellFormed() || undefined : undefined;
/** Never half of a surrogate pair at the end. */
export const truncate = (given: string, maxLength: number) =>
  given.length <= maxLength ? given : `${given.slice(0, maxLength - 1)}…`.toWellFormed();

/** What an incident opened by these alerts is called: the group's own summary, else its alerts' names with how many there are. */
export function incidentTitle(delivery: Delivery, opening: readonly DeliveredAlert[]): string {
  const [first] = opening;
  if (opening.length === 1) return first!.title;
  if (delivery.summary) return truncate(delivery.summary, 200);
  const names = [...new Set(opening.map((a) => a.labels.alertname ?? a.title))];
  const named = names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(', ');
  return `${truncate(named, 180)} (${opening.length})`;
}
