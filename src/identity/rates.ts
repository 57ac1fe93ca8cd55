import { rateLimit, type Verdict } from './rate-limit.ts';

/** An organization's rate is that of this many members, so one member who sends without pause leaves nine tenths to the others. */
const orgToMemberRatio = 10;

/** Request rates per member and organization. All tokens of a member share one bucket. */
export interface Rates {
  /** For one member; 0: unlimited. */
  perMinute: number;
  /** `remaining` is the smaller of the member's and the organization's. A refused request counts for neither. */
  take(org: string, user: string): Verdict & { whose: 'user' | 'organization'; perMinute: number };
}

/** Field by field, because it runs for every request. */
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
      // A member of several organizations has a bucket in each: requests in one cost the others nothing.
      const own = members.take(`${org} ${user}`);
      if (!own.allowed) orgs.giveBack(org);
      return own.allowed && all.remaining < own.remaining
        ? withOwner(all, 'organization', orgs.perMinute)
        : withOwner(own, 'user', perMinute);
    },
  };
}
