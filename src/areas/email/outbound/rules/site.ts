/** Sending limits of one site. */
export interface SiteLimits {
  connections: number;
  messagesPerConnection: number;
  connectionsPerMinute: number;
  /** Never in plain text, even after a failed handshake. */
  requiresTls: boolean;
}

/** Sessions are reused for long, as postfix does. With 100 messages each, a site would be limited to 10,000 a minute. */
const defaultLimits: SiteLimits = { connections: 10, messagesPerConnection: 5_000, connectionsPerMinute: 100, requiresTls: false };

/** Providers that publish limits or penalize senders above them (from KumoMTA's shaping rules), by MX host name. */
const providers: [RegExp, Partial<SiteLimits>][] = [
  [/(^|\.)(google|googlemail|psmtp)\.com$/, { connections: 5, messagesPerConnection: 50, requiresTls: true }],
  [/(^|\.)yahoodns\.net$/, { messagesPerConnection: 20 }],
  [/(^|\.)(outlook|hotmail)\.com$|(^|\.)mx\.microsoft$/, { connections: 5, messagesPerConnection: 50 }],
];

/** Provider limits apply only if every host belongs to the provider; one Google host must not force TLS on the others. */
export function limitsOf(hosts: readonly string[]): SiteLimits {
  const found = providers.find(([pattern]) => hosts.length > 0 && hosts.every((host) => pattern.test(host)));
  return { ...defaultLimits, ...found?.[1] };
}

/** Concurrency of a site: halved under pressure, raised by one after each clean minute. */
export interface SiteConcurrency {
  /** Connections at once. */
  connections: number;
  /** The current minute: its start, and its accepted and deferred answers. */
  windowStartedAt: number;
  accepted: number;
  deferred: number;
  /** Last reduction. At most one a minute, since ten connections hear the same complaint at once. */
  reducedAt: number;
}

const minute = 60_000;
const minAnswers = 10;

export const initialConcurrency = (connections: number, now: number): SiteConcurrency => ({
  connections,
  windowStartedAt: now,
  accepted: 0,
  deferred: 0,
  reducedAt: Number.NEGATIVE_INFINITY,
});

/** Records one answer. `asksForLess`: the site asked for a lower rate. */
export function adjustConcurrency(
  pace: SiteConcurrency,
  maxConnections: number,
  now: number,
  answer: 'good' | 'later' | 'asksForLess',
): SiteConcurrency {
  const next = now - pace.windowStartedAt >= minute ? closeMinute(pace, maxConnections, now) : { ...pace };
  if (answer === 'good') next.accepted += 1;
  else next.deferred += 1;
  const judged = next.accepted + next.deferred >= minAnswers && next.deferred >= 0.3 * (next.accepted + next.deferred);
  if (answer === 'good' || (answer !== 'asksForLess' && !judged) || now - next.reducedAt < minute) return next;
  return { connections: Math.max(1, Math.floor(next.connections / 2)), windowStartedAt: now, accepted: 0, deferred: 0, reducedAt: now };
}

/** A minute with accepted mail and few deferrals adds one connection. */
function closeMinute(pace: SiteConcurrency, maxConnections: number, now: number): SiteConcurrency {
  const wasClean = pace.accepted > 0 && pace.deferred < 0.3 * (pace.accepted + pace.deferred) && now - pace.reducedAt >= minute;
  return {
    ...pace,
    connections: wasClean ? Math.min(maxConnections, pace.connections + 1) : pace.connections,
    windowStartedAt: now,
    accepted: 0,
    deferred: 0,
  };
}
