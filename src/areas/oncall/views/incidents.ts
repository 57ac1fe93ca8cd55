import type { AlertRow } from '../store/alerts.ts';
import type { IncidentRow } from '../store/incidents.ts';
import type { PageRow } from '../store/pages.ts';
import type { EntryRow } from '../store/timeline.ts';
import type { UpdateRow } from '../store/updates.ts';

/** The fields that have a value: optional ones are absent, never null. */
const present = <T extends Record<string, unknown>>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };

export const incidentView = (i: IncidentRow) => ({
  id: i.id,
  serviceId: i.service_id,
  serviceName: i.service_name,
  title: i.title,
  status: i.status,
  openedAt: i.opened_at,
  ...present({ acknowledgedAt: i.acknowledged_at, resolvedAt: i.resolved_at }),
  firingAlerts: i.firing_alerts,
});

export interface Details {
  alerts: AlertRow[];
  timeline: EntryRow[];
  updates: UpdateRow[];
  pages: PageRow[];
}

/** Alerts, pages and timeline entries shown; an incident open for months has more. */
export const maxShown = 1_000;

/**
 * Lists are read with one row more than shown, to detect a longer list. Fewer alert rows than `alert_count` means that old occurrences were
 * deleted.
 */
export const incidentDetail = (i: IncidentRow, { alerts, timeline, updates, pages }: Details) => ({
  ...incidentView(i),
  ...present({ description: i.description, acknowledgedBy: i.acknowledged_by, resolvedBy: i.resolved_by }),
  origin: i.origin as string,
  alerts: alerts.slice(0, maxShown).map(alertView),
  timeline: timeline
    .slice(-maxShown)
    .map(({ id, at, kind, message, actor, data }) => ({ id, at, kind, message, ...present({ actor, data }) })),
  updates: updates.map(updateView),
  escalation: {
    ...present({ policyId: i.policy?.id, policyName: i.policy?.name, nextAt: i.next_at }),
    state: i.walk_state as string,
    pass: i.pass,
    step: i.step,
  },
  pages: pages.slice(-maxShown).map(pageView),
  cut: Object.entries({ alerts, timeline, pages }).flatMap(([name, list]) =>
    list.length > maxShown || (list === alerts && list.length < i.alert_count) ? [name] : [],
  ),
});

const alertView = (a: AlertRow) => ({
  id: a.id,
  fingerprint: a.fingerprint,
  sourceId: a.source_id,
  sourceName: a.source_name,
  status: a.status as string,
  title: a.title,
  labels: a.labels,
  annotations: a.annotations,
  ...present({ generatorURL: a.generator_url, endsAt: a.ends_at }),
  startsAt: a.starts_at,
  firstReceivedAt: a.first_at,
  lastReceivedAt: a.last_at,
  deliveries: a.deliveries,
});

const pageView = (p: PageRow) => ({
  id: p.id,
  userId: p.user_id,
  label: p.label,
  channel: p.channel as string,
  state: p.state as string,
  dueAt: p.due_at,
  ...present({ sentAt: p.sent_at, error: p.error }),
  attempts: p.attempts,
});

export const updateView = (u: UpdateRow) => ({
  id: u.id,
  at: u.at,
  body: u.body,
  byLabel: u.by_label,
  ...(u.kind === 'update' ? {} : { kind: u.kind }),
});
