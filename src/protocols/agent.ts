import Type, { type Static } from 'typebox';

// What a prober and a server say to each other, over HTTPS from elsewhere and over a unix socket from a server's own prober:
//   POST /agent/v1/session      who I am; the answer says which vantage this is and which batch was stored last
//   GET  /agent/v1/assignments  what to check; waits for a change. Doubles as the heartbeat
//   POST /agent/v1/results      what was seen; answered once it is committed

export const paths = {
  session: '/agent/v1/session',
  assignments: '/agent/v1/assignments',
  results: '/agent/v1/results',
} as const;

/** How long a question for assignments may wait for a change. */
export const pollSeconds = 15;
/** An instance that was silent for so long is not there: its share goes to the others, and a vantage without any is unavailable. */
export const goneSeconds = 45;
export const mostResults = 500;
/** A prober keeps what it could not deliver for so long, and no longer than its disk ring is big. */
export const bufferHours = 24;
export const bufferBytes = 64 * 2 ** 20;

/** Nobody floods a host through us, however many monitors name it: so many checks of one host and port a second start from one prober. */
export const checksASecond = 10;

/** Why a check was not made, as `errorKind` of a `missed` result. Those of an earlier release say nothing. */
export const missedKinds = ['host_rate', 'still_running', 'overloaded'] as const;
export type MissedKind = (typeof missedKinds)[number];

export const outcomes = ['pass', 'fail', 'error', 'missed'] as const;
export type Outcome = (typeof outcomes)[number];

export const HttpTarget = Type.Object({
  url: Type.String(),
  method: Type.Union([Type.Literal('GET'), Type.Literal('HEAD'), Type.Literal('POST')]),
  headers: Type.Record(Type.String(), Type.String()),
  bodyBase64: Type.Optional(Type.String()),
  followRedirects: Type.Boolean(),
  expectStatus: Type.Array(Type.String()),
  expectBodyContains: Type.Optional(Type.String()),
});
export type HttpTarget = Static<typeof HttpTarget>;

export const TcpTarget = Type.Object({
  host: Type.String(),
  port: Type.Integer(),
  tls: Type.Boolean(),
  sendBase64: Type.Optional(Type.String()),
  expectPrefixBase64: Type.Optional(Type.String()),
});
export type TcpTarget = Static<typeof TcpTarget>;

const common = {
  id: Type.String(),
  /** Whose it is, without saying who: tenants take turns at a host that many of them check. Servers of an earlier release do not tell. */
  tenant: Type.Optional(Type.String()),
  epoch: Type.Integer(),
  intervalSeconds: Type.Integer(),
  timeoutMs: Type.Integer(),
  confirmations: Type.Integer(),
  /** Where this vantage stands, so that a prober that takes over confirms at the pace of the one before it. */
  streak: Type.Object({
    fail: Type.Integer(),
    pass: Type.Integer(),
    verdict: Type.Union([Type.Literal('unknown'), Type.Literal('passing'), Type.Literal('failing')]),
  }),
};
export const Assignment = Type.Union([
  Type.Object({ ...common, kind: Type.Literal('http'), target: HttpTarget }),
  Type.Object({ ...common, kind: Type.Literal('tcp'), target: TcpTarget }),
]);
export type Assignment = Static<typeof Assignment>;

export const SessionRequest = Type.Object({
  instance: Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', description: 'A UUID in lower case' }),
  version: Type.String({ maxLength: 50 }),
  /** The prober's wall clock in Unix milliseconds, to tell an operator that it is off. */
  now: Type.Number(),
});
export const SessionResponse = Type.Object({
  vantage: Type.String(),
  label: Type.String(),
  /** The server's clock in Unix milliseconds. */
  now: Type.Number(),
  /** The newest batch of this instance that is stored; numbering goes on after it. */
  seq: Type.Integer(),
  /** Names itself to those who are checked. */
  userAgent: Type.String(),
});
export type SessionResponse = Static<typeof SessionResponse>;

/** Asked with `?instance=…&since=<cursor of the last answer>`; without `since`, everything is answered. */
export const AssignmentsResponse = Type.Object({
  cursor: Type.String(),
  /** True: whatever is not listed here is no longer ours to check. */
  full: Type.Boolean(),
  assignments: Type.Array(Assignment),
  removed: Type.Array(Type.String()),
});
export type AssignmentsResponse = Static<typeof AssignmentsResponse>;

/** What an int of the database holds, and what JSON tells apart. */
const mostInt = 2 ** 31 - 1;
const mostCount = Number.MAX_SAFE_INTEGER;

const ms = Type.Number({ minimum: 0, maximum: 86_400_000 });

const Phases = Type.Object({
  resolve: Type.Optional(ms),
  connect: Type.Optional(ms),
  tls: Type.Optional(ms),
  firstByte: Type.Optional(ms),
  transfer: Type.Optional(ms),
});

export const Result = Type.Object({
  monitor: Type.String({ maxLength: 64 }),
  epoch: Type.Integer({ minimum: 0, maximum: mostInt }),
  /** How long ago the check ended (for `missed`: was due), by the prober's monotonic clock, when the batch was sent. */
  ageMs: ms,
  outcome: Type.Union([Type.Literal('pass'), Type.Literal('fail'), Type.Literal('error'), Type.Literal('missed')]),
  latencyMs: Type.Optional(ms),
  /** Summed over redirects. */
  phases: Type.Optional(Phases),
  errorKind: Type.Optional(Type.String({ maxLength: 40 })),
  errorDetail: Type.Optional(Type.String({ maxLength: 500 })),
  snippet: Type.Optional(Type.String({ maxLength: 1024 })),
  status: Type.Optional(Type.Integer({ minimum: 0, maximum: 999 })),
  redirects: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  family: Type.Optional(Type.Union([Type.Literal(4), Type.Literal(6)])),
  httpVersion: Type.Optional(Type.String({ maxLength: 8 })),
  contentLength: Type.Optional(Type.Integer({ minimum: -1, maximum: mostCount })),
  /** Of the chain that was shown last: Unix milliseconds. */
  certificateUntil: Type.Optional(Type.Number({ minimum: -mostCount, maximum: mostCount })),
  tlsVersion: Type.Optional(Type.String({ maxLength: 20 })),
});
export type Result = Static<typeof Result>;

export const Batch = Type.Object({
  instance: SessionRequest.properties.instance,
  /** One more than that of the batch before it. */
  seq: Type.Integer({ minimum: 1, maximum: mostCount }),
  now: Type.Number(),
  /** Its canaries fail, or most of its monitors began to fail at once: it is the one that is cut off. */
  degraded: Type.Boolean(),
  results: Type.Array(Result, { maxItems: mostResults }),
});
export type Batch = Static<typeof Batch>;

export const BatchResponse = Type.Object({ seq: Type.Integer() });

// What must not be told of a check. Probers leave it out before anything is written or sent; servers leave it out once more.

/** Of any URL, wherever it is told: neither user and password, nor query, nor fragment. */
export const shownUrl = (url: string): string => url.split(/[?#]/, 1)[0]!.replace(/^([a-z][a-z0-9+.-]*:[/\\]*)[^/\\]*@/i, '$1');

/** The same of every URL in a text that a target had a hand in, such as where it redirects to. */
export const withoutQueries = (text: string): string => text.replaceAll(/https?:[/\\]+[^\s"'<>]+/gi, shownUrl);

/**
 * Whether a check sends anything that readers do not see. Its answer may repeat it in more spellings than can be known (escaped, encoded,
 * decoded, cut off), so that nothing of such an answer is kept.
 */
export const sendsHidden = (target: HttpTarget | TcpTarget): boolean =>
  'url' in target
    ? shownUrl(target.url) !== target.url || Object.keys(target.headers).length > 0 || target.bodyBase64 !== undefined
    : target.sendBase64 !== undefined;
