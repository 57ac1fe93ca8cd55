import Type from 'typebox';
import { DateTime, Id, input, Name, named, nullable, op } from '../common.ts';

const OncallAlertSource = named(
  'OncallAlertSource',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    serviceId: Type.String(),
    createdAt: DateTime,
    lastEventAt: nullable(DateTime, 'null until the first delivery'),
    lastProblem: Type.Optional(
      Type.Object(
        {
          at: DateTime,
          message: Type.String({ description: 'What was wrong with the first of them' }),
          rejected: Type.Integer({ minimum: 1, description: 'Alerts of that delivery that were not taken in' }),
        },
        { description: 'The last delivery with alerts that could not be taken in; absent while there was none' },
      ),
    ),
  }),
);

// Alertmanager’s and Prometheus’s own shapes: only what we read is described. The handler bounds it: 10,000 alerts, 100 labels of each.
// A refused delivery is a page that is never sent, so unusual deliveries are accepted as far as possible.
const words = Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } });
const text = Type.Optional(Type.String());
const alert = {
  labels: words,
  annotations: Type.Optional(words),
  startsAt: text,
  endsAt: Type.Optional(Type.String({ description: '`0001-01-01T00:00:00Z` while it fires; from Prometheus: when to think it stale' })),
  generatorURL: text,
};

const AlertmanagerWebhook = named(
  'AlertmanagerWebhook',
  Type.Object({
    version: text,
    groupKey: text,
    truncatedAlerts: Type.Optional(Type.Integer()),
    status: text,
    receiver: text,
    groupLabels: Type.Optional(words),
    commonLabels: Type.Optional(words),
    commonAnnotations: Type.Optional(words),
    externalURL: text,
    alerts: Type.Array(Type.Object({ ...alert, status: text, fingerprint: text })),
  }),
);

const OncallIngest = named(
  'OncallIngest',
  Type.Object({
    accepted: Type.Integer({ minimum: 0, description: 'Alerts taken in, known ones included' }),
    firing: Type.Integer({ minimum: 0 }),
    resolved: Type.Integer({ minimum: 0 }),
    rejected: Type.Optional(Type.Integer({ minimum: 1, description: 'Alerts that could not be taken in; the others were' })),
    problems: Type.Optional(Type.Array(Type.String(), { description: 'What was wrong with the first ten of them' })),
  }),
);

const ingest = {
  method: 'POST',
  permission: 'none',
  credential: 'src',
  kinds: ['oncall.source'],
  bodyLimit: 8_388_608,
  responses: { 200: OncallIngest },
  errors: {
    400: 'the body is not what the protocol says, or no alert in it is; the sentence names the field',
    401: 'unauthenticated: no such alert source, or not its token',
    503: 'not stored, temporarily unavailable: deliver it again',
  },
  foreign: true,
  sliced: true,
  unlimited: true,
  extension: true,
} as const;

export const sourceOps = {
  listAlertSources: op({
    method: 'GET',
    path: '/oncall/alert-sources',
    summary: 'List alert sources',
    description: 'Each is an Alertmanager-compatible entry point bound to one service. Tokens are never shown again.',
    permission: 'oncall.source.read',
    scoped: true,
    responses: { 200: Type.Object({ sources: Type.Array(OncallAlertSource) }) },
  }),
  createAlertSource: op({
    method: 'POST',
    path: '/oncall/alert-sources',
    summary: 'Create an alert source',
    description:
      'Point a webhook receiver at /api/v1/oncall/alert-sources/{id}/alerts with the token as bearer. The token is returned only here.',
    permission: 'oncall.source.admin',
    fresh: true,
    scoped: true,
    body: input({ name: Name, serviceId: Id('The service whose incidents its alerts open') }),
    responses: {
      201: Type.Object({ id: Type.String(), name: Type.String(), serviceId: Type.String(), token: Type.String(), createdAt: DateTime }),
    },
    errors: {
      404: 'unknown service, or not of this organization',
      409: 'the organization has 1,000 alert sources, or the Idempotency-Key was used before in another way',
    },
    secret: true,
  }),
  revokeAlertSource: op({
    method: 'DELETE',
    path: '/oncall/alert-sources/{id}',
    summary: 'Revoke an alert source for good',
    description: 'Immediate: deliveries under way get 401.',
    permission: 'oncall.source.admin',
    scoped: true,
    responses: { 204: null },
  }),
  receiveAlerts: op({
    ...ingest,
    path: '/oncall/alert-sources/{id}/alerts',
    summary: 'Deliver alerts (Alertmanager webhook, version 4)',
    description:
      'Answered only once the alerts are stored. State is kept for each fingerprint, so repeated deliveries change nothing and mixed groups are taken apart.',
    body: AlertmanagerWebhook,
  }),
  receivePrometheusAlerts: op({
    ...ingest,
    path: '/oncall/alert-sources/{id}/api/v2/alerts',
    summary: 'Deliver alerts (Prometheus itself)',
    description: 'For Prometheus without an Alertmanager: give it /api/v1/oncall/alert-sources/{id} as path_prefix of an alertmanager.',
    body: Type.Array(named('PrometheusAlert', Type.Object(alert))),
  }),
};
