/** How much a site is asked to take at once. */
export interface SiteLimits {
  connections: number;
  messagesPerConnection: number;
  connectionsPerMinute: number;
  /** Never in the clear, whatever happens to the handshake. */
  requiresTls: boolean;
}

/** A session is used for long, as postfix does: a hundred messages each would bound a site to ten thousand a minute. */
const usual: SiteLimits = { connections: 10, messagesPerConnection: 5_000, connectionsPerMinute: 100, requiresTls: false };

/** Providers that publish what they take, or punish those who send more (KumoMTA's shaping). By the names of their mail servers. */
const providers: [RegExp, Partial<SiteLimits>][] = [
  [/(^|\.)(google|googlemail|psmtp)\.com$/, { connections: 5, messagesPerConnection: 50, requiresTls: true }],
  [/(^|\.)yahoodns\.net$/, { messagesPerConnection: 20 }],
  [/(^|\.)(outlook|hotmail)\.com$|(^|\.)mx\.microsoft$/, { connections: 5, messagesPerConnection: 50 }],
];

/** Of the provider only if every host is theirs: one host of google's among others does not make others take TLS. */
export function limitsOf(hosts: readonly string[]): SiteLimits {
  const found = providers.find(([pattern]) => hosts.length > 0 && hosts.every((host) => pattern.test(host)));
  return { ...usual, ...found?.[1] };
}

/** How a site's pace is found: halved when it is too much for it, one more after each clean minute. */
export interface Pace {
  /** Connections at once. */
  connections: number;
  /** The minute that is being counted: when it began, and what was said in it. */
  since: number;
  good: number;
  later: number;
  /** Halved at most once a minute: ten connections hear the same complaint at once. */
  slowedAt: number;
}

const minute = 60_000;
const enoughToJudge = 10;

export const firstPace = (connections: number, now: number): Pace => ({
  connections,
  since: now,
  good: 0,
  later: 0,
  slowedAt: Number.NEGATIVE_INFINITY,
});

/** One more answer of the site. `asksForLess`: it said so itself. */
export function notePace(pace: Pace, most: number, now: number, answer: 'good' | 'later' | 'asksForLess'): Pace {
  const next = now - pace.since >= minute ? closeMinute(pace, most, now) : { ...pace };
  if (answer === 'good') next.good += 1;
  else next.later += 1;
  const judged = next.good + next.later >= enoughToJudge && next.later >= 0.3 * (next.good + next.later);
  if (answer === 'good' || (answer !== 'asksForLess' && !judged) || now - next.slowedAt < minute) return next;
  return { connections: Math.max(1, Math.floor(next.connections / 2)), since: now, good: 0, later: 0, slowedAt: now };
}

/** A minute in which the site took what it was given, and was given something, earns it one connection more. */
function closeMinute(pace: Pace, most: number, now: number): Pace {
  const wasClean = pace.good > 0 && pace.later < 0.3 * (pace.good + pace.later) && now - pace.slowedAt >= minute;
  return { ...pace, connections: wasClean ? Math.min(most, pace.connections + 1) : pace.connections, since: now, good: 0, later: 0 };
}
