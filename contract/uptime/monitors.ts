import Type from 'typebox';
import { DateTime, Id, input, Name, named, nextCursor, nullable, oneOf, op, page } from '../common.ts';

/** Base64 of at most so many bytes, between a thousand and a million. The comma by hand: `toLocaleString` loads 40 ms of languages. */
const base64 = (bytes: number, description: string) =>
  Type.String({
    maxLength: Math.ceil(bytes / 3) * 4,
    pattern: '^[A-Za-z0-9+/]*={0,2}$',
    description: `Base64 of at most ${Math.floor(bytes / 1000)},${String(bytes % 1000).padStart(3, '0')} bytes; ${description}`,
  });

const url = {
  format: 'uri',
  description:
    'http or https, at most 2,048 characters; addresses in private ranges are refused. Shown without its query, and to those who may change the monitor with `***` for every value of it; `***` sent for a value keeps the stored one',
};

const http = {
  // With masks for its values a URL may be longer than it is; how long it is, is judged with the values.
  url: Type.String({ ...url, maxLength: 8192 }),
  method: Type.Optional(oneOf(['GET', 'HEAD', 'POST'], { description: 'GET by default' })),
  headers: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      maxProperties: 32,
      propertyNames: {
        type: 'string',
        maxLength: 200,
        pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
        description: 'The name of a header, in letters, digits and signs such as - and _: X-Probe',
      },
      additionalProperties: { type: 'string', maxLength: 4096 },
      description:
        'Sent with every check; 8 KiB in all. Shown only to those who may change the monitor, with `***` for every value; `***` sent for a value keeps the stored one',
    }),
  ),
  bodyBase64: Type.Optional(
    base64(
      16_384,
      'only with POST. Shown only to those who may change the monitor, as `Kioq` (`***`), which keeps the stored one when sent',
    ),
  ),
  followRedirects: Type.Optional(Type.Boolean({ description: 'true by default: at most 5, each checked like the first address' })),
  expectStatus: Type.Optional(
    Type.Array(
      Type.String({
        maxLength: 7,
        pattern: '^[1-5]([0-9]{2}|xx|[0-9]{2}-[1-5][0-9]{2})$',
        description: 'A status, a class or a range: `200`, `2xx` or `200-299`',
      }),
      {
        minItems: 1,
        maxItems: 20,
        description: 'Each `200`, `2xx` or `200-299`; any match passes; `2xx` by default',
      },
    ),
  ),
  expectBodyContains: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      description:
        'Text that the body must hold; not with HEAD. Shown only to those who may change the monitor. Another one needs every hidden value sent again, for a check would tell whether it is part of one',
    }),
  ),
};

const tcp = {
  host: Type.String({ minLength: 1, maxLength: 253 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  tls: Type.Optional(Type.Boolean({ description: 'Make a verified TLS handshake; false by default' })),
  sendBase64: Type.Optional(
    base64(
      4096,
      'sent after connecting. Shown only to those who may change the monitor, as `Kioq` (`***`), which keeps the stored one when sent',
    ),
  ),
  expectPrefixBase64: Type.Optional(
    base64(
      1024,
      'what the answer must begin with. Shown only to those who may change the monitor; another one needs what is sent to be sent again',
    ),
  ),
};

const downCondition = {
  confirmations: Type.Integer({
    minimum: 1,
    maximum: 10,
    description: 'How many checks in a row change one vantage’s verdict; 2 by default',
  }),
  quorum: Type.Integer({ minimum: 1, maximum: 10, description: 'How many failing vantages mean down; the majority by default' }),
};

const UptimeHttp = named('UptimeHttp', Type.Object({ ...http, url: Type.String(url) }));
const UptimeTcp = named('UptimeTcp', Type.Object(tcp));
const UptimeDownCondition = named('UptimeDownCondition', Type.Object(downCondition));
const UptimeHttpInput = named('UptimeHttpInput', input(http));
const UptimeTcpInput = named('UptimeTcpInput', input(tcp));
const UptimeDownConditionInput = named('UptimeDownConditionInput', input(downCondition));

const UptimeMonitor = named(
  'UptimeMonitor',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    serviceId: Type.Optional(Type.String({ description: 'Absent: not part of a service, so it opens no incidents' })),
    enabled: Type.Boolean(),
    intervalSeconds: Type.Integer(),
    vantages: Type.Array(Type.String()),
    timeoutMs: Type.Integer(),
    downCondition: UptimeDownCondition,
    kind: oneOf(['tcp', 'http']),
    state: Type.Optional(
      oneOf(['pending', 'up', 'down'], { description: 'Always present; `pending` while disabled or before the first verdict' }),
    ),
    stateSince: Type.Optional(DateTime),
    createdAt: DateTime,
    updatedAt: DateTime,
    http: Type.Optional(UptimeHttp),
    tcp: Type.Optional(UptimeTcp),
    vantageStates: Type.Optional(
      Type.Array(
        Type.Object({
          vantage: Type.String(),
          verdict: oneOf(['unknown', 'passing', 'failing'], {
            description: 'Confirmed by as many checks in a row as `confirmations` says',
          }),
          failingSince: Type.Optional(
            Type.String({ format: 'date-time', description: 'The first failure of the streak that is under way' }),
          ),
          checkedAt: Type.Optional(Type.String({ format: 'date-time', description: 'The newest check; absent before the first one' })),
          latencyMs: Type.Optional(Type.Number({ description: 'Of the newest check' })),
        }),
        { description: 'What each vantage sees now. Always present where one monitor is asked for, and nowhere else' },
      ),
    ),
    conditions: Type.Optional(
      Type.Array(
        Type.Object({
          kind: Type.String({
            description:
              'host_rate: more than 10 checks a second are due at its host and port; still_running: a check lasts longer than its interval; overloaded: the prober is. More may be added',
          }),
          vantage: Type.String(),
          at: DateTime,
          message: Type.String(),
        }),
        { description: 'Why checks that were due lately were not made; absent when all were' },
      ),
    ),
  }),
);

const UptimeTrial = named(
  'UptimeTrial',
  Type.Object({
    vantage: Type.String(),
    passed: Type.Boolean(),
    outcome: oneOf(['pass', 'fail', 'error'], { description: '`fail`: it answered, but not as expected; `error`: it could not be asked' }),
    latencyMs: Type.Number(),
    phases: Type.Object(
      {
        resolve: Type.Optional(Type.Number()),
        connect: Type.Optional(Type.Number()),
        tls: Type.Optional(Type.Number()),
        firstByte: Type.Optional(Type.Number()),
        transfer: Type.Optional(Type.Number()),
      },
      { description: 'In milliseconds, summed over redirects; what did not happen is absent' },
    ),
    status: Type.Optional(Type.Integer({ description: 'The HTTP status of the last answer' })),
    redirects: Type.Optional(Type.Integer()),
    httpVersion: Type.Optional(Type.String()),
    ipVersion: Type.Optional(Type.Integer({ description: '4 or 6' })),
    tlsVersion: Type.Optional(Type.String()),
    certificateEndsAt: Type.Optional(DateTime),
    errorKind: Type.Optional(Type.String({ description: 'As in the failures of a monitor; absent when it passed' })),
    errorDetail: Type.Optional(Type.String()),
    responseSnippet: Type.Optional(Type.String({ description: 'At most 1,024 bytes of what came back, when it did not pass' })),
  }),
);

const interval = Type.Integer({ minimum: 1, maximum: 86_400, description: 'One of the intervals that the catalog offers' });
const vantages = Type.Array(Type.String({ minLength: 1, maxLength: 63 }), {
  minItems: 1,
  maxItems: 10,
  description: 'Ids from the catalog, each once; unavailable ones are refused',
});
const timeout = Type.Integer({
  minimum: 500,
  maximum: 30_000,
  description: 'Bounds the whole check, name lookup and body included; 10,000 by default; below the interval',
});
const serviceId = Id('The service it belongs to: when it goes down, an alert of that service fires');

export const monitorOps = {
  listMonitors: op({
    method: 'GET',
    path: '/uptime/monitors',
    summary: 'List monitors',
    description:
      'Newest first, with their live state. What is sent with a check (header and query values, bodies) is sealed and never shown again; see `http` and `tcp`.',
    permission: 'uptime.monitor.read',
    scoped: true,
    entitlement: 'uptime',
    query: input(page),
    responses: { 200: Type.Object({ monitors: Type.Array(UptimeMonitor), cursor: nextCursor }) },
  }),
  createMonitor: op({
    method: 'POST',
    path: '/uptime/monitors',
    summary: 'Create a monitor',
    description:
      'Exactly the object named by `kind` comes with it. The organization’s monitor quota is checked before interval, vantages and target are.',
    permission: 'uptime.monitor.write',
    entitlement: 'uptime',
    body: input({
      name: Name,
      serviceId: Type.Optional(serviceId),
      enabled: Type.Optional(Type.Boolean({ description: 'true by default' })),
      intervalSeconds: interval,
      vantages,
      timeoutMs: Type.Optional(timeout),
      downCondition: Type.Optional(UptimeDownConditionInput),
      http: Type.Optional(UptimeHttpInput),
      tcp: Type.Optional(UptimeTcpInput),
      kind: oneOf(['tcp', 'http'], { description: 'Immutable' }),
    }),
    responses: { 201: UptimeMonitor },
    errors: {
      400: 'the input is invalid, the interval or a vantage is not offered, or the target is not admissible',
      403: 'uptime is not enabled for the organization (private beta), the caller lacks the permission, or the monitor quota is reached',
    },
    codes: { 403: ['quota_reached'] },
  }),
  tryMonitor: op({
    method: 'POST',
    path: '/uptime/monitors/try',
    summary: 'Try a check once',
    changesNothing: true,
    description:
      'Makes the check of a monitor that is not saved, once, from vantage `local`, and answers with what it saw. It goes through the same guard and is judged as the checks of a monitor are; nothing is stored. The process that answers makes it. With `monitorId` a `***` stands for the value that this monitor stores, and no words of the answer are shown. An organization has at most 3 under way.',
    permission: 'uptime.monitor.write',
    scoped: true,
    entitlement: 'uptime',
    extension: true,
    body: input({
      kind: oneOf(['tcp', 'http']),
      http: Type.Optional(UptimeHttpInput),
      tcp: Type.Optional(UptimeTcpInput),
      timeoutMs: Type.Optional(Type.Integer({ minimum: 500, maximum: 30_000, description: 'Bounds the whole check; 10,000 by default' })),
      monitorId: Type.Optional(Id('The monitor whose stored values `***` stands for')),
    }),
    responses: { 200: UptimeTrial },
    errors: {
      400: 'the input is invalid, the target is not admissible, or `***` stands for nothing that is stored',
      429: 'too many trials, or too many requests; Retry-After says when to come back',
      503: 'temporarily unavailable, or too busy to judge the check',
    },
  }),
  getMonitor: op({
    method: 'GET',
    path: '/uptime/monitors/{id}',
    summary: 'One monitor',
    permission: 'uptime.monitor.read',
    scoped: true,
    entitlement: 'uptime',
    responses: { 200: UptimeMonitor },
  }),
  updateMonitor: op({
    method: 'PATCH',
    path: '/uptime/monitors/{id}',
    summary: 'Change a monitor',
    description:
      '`http` and `tcp` are replaced whole; a value that is sent as it is shown, `***`, stays as it is stored, unless the monitor is pointed at another server: then it must be sent again. Another target or other vantages start over at `pending`. The kind is immutable: recreate the monitor to switch.',
    permission: 'uptime.monitor.write',
    scoped: true,
    entitlement: 'uptime',
    body: input({
      name: Type.Optional(Name),
      serviceId: Type.Optional(nullable(serviceId, 'null detaches it from its service')),
      enabled: Type.Optional(Type.Boolean()),
      intervalSeconds: Type.Optional(interval),
      vantages: Type.Optional(vantages),
      timeoutMs: Type.Optional(timeout),
      downCondition: Type.Optional(UptimeDownConditionInput),
      http: Type.Optional(UptimeHttpInput),
      tcp: Type.Optional(UptimeTcpInput),
    }),
    responses: { 200: UptimeMonitor },
    errors: {
      400: 'the input is invalid, the interval or a vantage is not offered, the target is not admissible, or it names another server and leaves `***` for stored values',
    },
  }),
  deleteMonitor: op({
    method: 'DELETE',
    path: '/uptime/monitors/{id}',
    summary: 'Delete a monitor',
    description: 'Checks stop at once and it is 404 everywhere from then on; its history is kept.',
    permission: 'uptime.monitor.write',
    fresh: true,
    scoped: true,
    entitlement: 'uptime',
    responses: { 204: null },
  }),
};
