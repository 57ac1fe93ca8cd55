import Type from 'typebox';
import { DateTime, named, oneOf } from '../common.ts';
import { channelsListed } from './channels.ts';

// Words that will grow (timeline kinds, page states) are strings with their values described: an enum in an answer could never gain one.

const incident = {
  id: Type.String(),
  serviceId: Type.String(),
  serviceName: Type.String(),
  title: Type.String(),
  status: oneOf(['open', 'acknowledged', 'resolved']),
  openedAt: DateTime,
  acknowledgedAt: Type.Optional(DateTime),
  resolvedAt: Type.Optional(DateTime),
  firingAlerts: Type.Integer({ minimum: 0, description: 'Distinct alerts that fire now' }),
};

export const OncallIncident = named('OncallIncident', Type.Object(incident));

export const OncallUpdate = named(
  'OncallUpdate',
  Type.Object({
    id: Type.String(),
    at: DateTime,
    body: Type.String(),
    byLabel: Type.String({ description: 'Who wrote it; for the team, never on status pages' }),
    kind: Type.Optional(Type.String({ description: 'postmortem; absent for an ordinary update' })),
  }),
);

const words = (description: string) =>
  Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' }, description });

const OncallActor = named(
  'OncallActor',
  Type.Object({
    kind: Type.String({ description: 'user, auto, system, source or provider' }),
    id: Type.Optional(Type.String({ description: 'The user or alert source; absent for the platform itself' })),
    label: Type.String(),
  }),
);

const OncallAlert = named(
  'OncallAlert',
  Type.Object({
    id: Type.String(),
    fingerprint: Type.String({ description: 'What makes two deliveries the same alert' }),
    sourceId: Type.String({ description: 'The alert source, or the monitor' }),
    sourceName: Type.String(),
    status: Type.String({ description: 'firing or resolved' }),
    title: Type.String(),
    labels: words('As delivered'),
    annotations: words('As delivered'),
    generatorURL: Type.Optional(Type.String()),
    startsAt: DateTime,
    endsAt: Type.Optional(DateTime),
    firstReceivedAt: DateTime,
    lastReceivedAt: DateTime,
    deliveries: Type.Integer({ minimum: 1, description: 'How often this occurrence arrived' }),
  }),
);

const OncallTimelineEntry = named(
  'OncallTimelineEntry',
  Type.Object({
    id: Type.String(),
    at: DateTime,
    kind: Type.String({
      description:
        'opened, alert_firing, alert_resolved, alert_stale, alerts_ended, step_fired, nobody_on_call, no_policy, escalation_exhausted, page_queued, page_sent, page_delivered, page_confirmed, page_failed, page_canceled, acknowledged, resolved, update_published, update_retracted, payload_truncated, alert_rejected, page_held_back, page_delayed, walk_restarted, responder_left, acknowledger_told',
    }),
    message: Type.String({ description: 'One sentence for people' }),
    actor: Type.Optional(OncallActor),
    data: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'The same for programs; depends on the kind',
      }),
    ),
  }),
);

const OncallEscalation = named(
  'OncallEscalation',
  Type.Object({
    policyId: Type.Optional(Type.String({ description: 'Absent: the service had no policy when the incident opened' })),
    policyName: Type.Optional(Type.String()),
    state: Type.String({ description: 'walking, acknowledged, resolved, exhausted, or none without a policy' }),
    pass: Type.Integer({ minimum: 0, description: 'From 0; `repeat` further ones follow the first' }),
    step: Type.Integer({ minimum: 0, description: 'The step that fired last, from 0' }),
    nextAt: Type.Optional(DateTime),
  }),
);

const OncallPage = named(
  'OncallPage',
  Type.Object({
    id: Type.String(),
    userId: Type.String(),
    label: Type.String(),
    channel: Type.String({ description: channelsListed }),
    state: Type.String({ description: 'queued, sending, sent, delivered, confirmed, failed or canceled' }),
    dueAt: DateTime,
    sentAt: Type.Optional(DateTime),
    error: Type.Optional(Type.String({ description: 'Why it failed, in the provider’s words where there are some' })),
    attempts: Type.Integer({ minimum: 0 }),
  }),
);

/** The specification leaves this object open: the incident, and everything that happened to it. */
export const OncallIncidentDetail = named(
  'OncallIncidentDetail',
  Type.Object({
    ...incident,
    description: Type.Optional(Type.String()),
    origin: Type.String({ description: 'alert, manual or uptime' }),
    acknowledgedBy: Type.Optional(OncallActor),
    resolvedBy: Type.Optional(OncallActor),
    alerts: Type.Array(OncallAlert),
    timeline: Type.Array(OncallTimelineEntry, { description: 'Oldest first; never public' }),
    updates: Type.Array(OncallUpdate, { description: 'What was published, oldest first' }),
    escalation: OncallEscalation,
    pages: Type.Array(OncallPage, { description: 'Every page that was due, and how it ended' }),
    cut: Type.Optional(
      Type.Array(Type.String(), { description: 'Which of alerts, timeline and pages show only their newest 1,000; always present' }),
    ),
  }),
);
