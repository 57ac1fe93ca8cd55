import { rateLimit, type Verdict } from './rate-limit.ts';

/** An organization may ask as often as this many of its members together: one who asks without pause leaves the others nine tenths. */
const orgToMemberRatio = 10;

/** How often members may ask. Their tokens do not count: a freshly minted one finds what the others left. */
export interface Rates {
  /** For one member; 0: as often as they like. */
  perMinute: number;
  /** `remaining` is what fits now whoever is counted, member or organization. A refused request counts for neither. */
  take(org: string, user: string): Verdict & { whose: 'user' | 'organization'; perMinute: number };
}

/** Field by field, since it is made for every request. */
const withOwner = <W extends 'user' | 'organization'>({ allowed, remaining, resetSeconds }: Verdict, whose: W, perMinute: number) => ({
  allowed,
  remaining,
  resetSeconds,
  whose,
  perMinute,
});

export function makeRates(perMinute: number, monotonic?: () => number): Rates {
  const members = rateLimit(perMinute, monotonic);
  const orgs = rateLimit(perMinute * orgToMemberRatio, monotonic);
  return {
    perMinute,
    take: (org, user) => {
      const all = orgs.take(org);
      if (!all.allowed) return withOwner(all, 'organization', orgs.perMinute);
      // Somebody in several organizations is counted in each by itself: what they do in one costs the others nothing.
      const own = members.take(`${org} ${user}`);
      if (!own.allowed) orgs.giveBack(org);
      return own.allowed && all.remaining < own.remaining
        ? withOwner(all, 'organization', orgs.perMinute)
        : withOwner(own, 'user', perMinute);
    },
  };
}
