import Type from 'typebox';
import { DateTime, input, named, nextCursor, oneOf, op, page } from '../common.ts';

const windows = ['1h', '24h', '7d'] as const;
const states = ['pending', 'up', 'down'] as const;

const UptimeInterval = named('UptimeInterval', Type.Object({ seconds: Type.Integer(), label: Type.String() }));
const UptimeVantage = named(
  'UptimeVantage',
  Type.Object({
    id: Type.String(),
    label: Type.String(),
    available: Type.Boolean({ description: 'Whether it reports now; monitors cannot be given a vantage that does not' }),
  }),
);

/** By vantage, over a window. */
const figures = {
  uptimePct: Type.Unsafe<Record<string, number>>({
    type: 'object',
    additionalProperties: { type: 'number', minimum: 0, maximum: 100 },
    description: 'By vantage id: the share of passing checks in the window, 0 to 100; a vantage without a check is absent',
  }),
  missed: Type.Optional(
    Type.Unsafe<Record<string, number>>({
      type: 'object',
      additionalProperties: { type: 'integer', minimum: 1 },
      description:
        'By vantage id: checks in the window that were due and not made; the shares are of those that were. Absent when all were made',
    }),
  ),
  series: Type.Array(
    Type.Object({
      vantage: Type.String(),
      points: Type.Array(
        Type.Object({
          t: Type.Number({ description: 'Start of the bucket, in Unix seconds; a bucket without a check has no point' }),
          latencyMs: Type.Number({ description: 'Mean of the passing checks, or of the failing ones when none passed' }),
          up: Type.Number({ minimum: 0, maximum: 1, description: 'The share of passing checks' }),
        }),
      ),
    }),
  ),
};

const UptimeMetrics = named(
  'UptimeMetrics',
  Type.Object({
    window: oneOf(windows),
    stepSeconds: Type.Integer({ description: '60, 300 or 1,800 by window, or the monitor’s interval when that is longer' }),
    ...figures,
  }),
);

const UptimeMonth = named(
  'UptimeMonth',
  Type.Object({ stepSeconds: Type.Integer({ description: '7,200, or the monitor’s interval when that is longer' }), ...figures }),
);

const UptimeFailure = named(
  'UptimeFailure',
  Type.Object({
    at: DateTime,
    vantage: Type.String(),
    attempt: Type.Integer({ description: 'Which failure in a row this was for the vantage, from 1' }),
    outcome: oneOf(['fail', 'error'], { description: '`fail`: it answered, but not as expected; `error`: it could not be asked' }),
    errorKind: Type.String({
      description:
        'For fail: status_mismatch, body_mismatch, prefix_mismatch. For error: dns_not_found, dns_failure, dns_timeout, connection_refused, connection_reset, connect_timeout, network_unreachable, tls_handshake, tls_certificate, timeout, too_many_redirects, protocol, blocked_target',
    }),
    errorDetail: Type.String(),
    responseSnippet: Type.String({
      description:
        'At most 1,024 bytes of what came back. Empty when nothing did, and always when the check sends anything hidden (a header, a query, a body, bytes to a port), which an answer may repeat',
    }),
  }),
);

const UptimeTransition = named(
  'UptimeTransition',
  Type.Object({
    at: DateTime,
    from: oneOf(states),
    to: oneOf(states),
    failingVantages: Type.Array(Type.String(), { description: 'The vantages that saw it failing at that moment' }),
  }),
);

const UptimeSummary = named(
  'UptimeSummary',
  Type.Object({
    from: DateTime,
    cellSeconds: Type.Integer({ description: 'What one cell of a bar covers: 1,800' }),
    pointSeconds: Type.Integer({ description: 'What one point of a line covers: 3,600' }),
    counts: Type.Object(
      { up: Type.Integer(), down: Type.Integer(), pending: Type.Integer(), disabled: Type.Integer() },
      { description: 'Of all monitors that the caller may see, also those of further answers; a disabled one counts as `disabled` alone' },
    ),
    monitors: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        kind: oneOf(['tcp', 'http']),
        enabled: Type.Boolean(),
        state: oneOf(states),
        since: DateTime,
        serviceId: Type.Optional(Type.String()),
        latencyMs: Type.Optional(Type.Integer({ description: 'Of the newest check of any vantage; absent before the first one' })),
        bar: Type.String({
          description:
            '48 cells, the oldest first and the newest under way: `u` every check passed, `p` a part of the checks passed, `d` the monitor was down for some of the time, `-` no check counts',
        }),
        line: Type.Array(Type.Union([Type.Integer(), Type.Null()]), {
          description:
            '24 points: the mean latency in milliseconds of the passing checks of all vantages, or of the failing ones when none passed; null without a check',
        }),
      }),
    ),
    cursor: nextCursor,
  }),
);

export const observationOps = {
  getUptimeSummary: op({
    method: 'GET',
    path: '/uptime/summary',
    summary: 'All monitors at a glance',
    description:
      'State, newest latency, and the last 24 hours of each monitor as a bar and a line, newest monitor first: one answer for a screen of 1,000 monitors. Sent with gzip to clients that accept it. Checks in maintenance windows do not count.',
    permission: 'uptime.monitor.read',
    scoped: true,
    entitlement: 'uptime',
    extension: true,
    query: input(page),
    responses: { 200: UptimeSummary },
  }),
  pingUptime: op({
    method: 'GET',
    path: '/uptime/ping',
    summary: 'Round trip to the uptime backend',
    permission: 'uptime.monitor.read',
    kinds: [],
    scoped: true,
    entitlement: 'uptime',
    responses: {
      200: Type.Object({
        service: Type.String(),
        org: Type.String(),
        schemaEpoch: Type.String({ description: 'The newest migration of the uptime schema' }),
        time: DateTime,
      }),
    },
  }),
  getUptimeCatalog: op({
    method: 'GET',
    path: '/uptime/catalog',
    summary: 'Intervals and vantages on offer',
    permission: 'uptime.monitor.read',
    kinds: [],
    scoped: true,
    entitlement: 'uptime',
    responses: { 200: Type.Object({ intervals: Type.Array(UptimeInterval), vantages: Type.Array(UptimeVantage) }) },
  }),
  getMonitorMetrics: op({
    method: 'GET',
    path: '/uptime/monitors/{id}/metrics',
    summary: 'Latency and uptime over a window',
    permission: 'uptime.monitor.read',
    scoped: true,
    entitlement: 'uptime',
    query: input({ window: Type.Optional(oneOf(windows, { description: '24h by default' })) }),
    responses: { 200: UptimeMetrics },
    errors: { 503: 'metrics temporarily unavailable; the monitor is unaffected' },
  }),
  getMonitorMonth: op({
    method: 'GET',
    path: '/uptime/monitors/{id}/month',
    summary: 'Latency and uptime of the last 30 days',
    permission: 'uptime.monitor.read',
    scoped: true,
    entitlement: 'uptime',
    extension: true,
    responses: { 200: UptimeMonth },
    errors: { 503: 'metrics temporarily unavailable; the monitor is unaffected' },
  }),
  listMonitorFailures: op({
    method: 'GET',
    path: '/uptime/monitors/{id}/failures',
    summary: 'Recent failures',
    description: 'The newest 100, newest first.',
    permission: 'uptime.monitor.read',
    scoped: true,
    entitlement: 'uptime',
    responses: { 200: Type.Object({ failures: Type.Array(UptimeFailure) }) },
  }),
  listMonitorTransitions: op({
    method: 'GET',
    path: '/uptime/monitors/{id}/transitions',
    summary: 'State changes',
    description: 'Most recent first, at most 50.',
    permission: 'uptime.monitor.read',
    scoped: true,
    entitlement: 'uptime',
    responses: { 200: Type.Object({ transitions: Type.Array(UptimeTransition) }) },
  }),
};
