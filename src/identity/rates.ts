import { rateLimit, type Verdict } from './rate-limit.ts';

/** An organization may ask as often as this many of its members together: one who asks without pause leaves the others nine tenths. */
const membersWorth = 10;

/** How often members may ask. Their tokens do not count: a freshly minted one finds what the others left. */
export interface Rates {
  /** For one member; 0: as often as they like. */
  perMinute: number;
  /** `remaining` is what fits now whoever is counted, member or organization. A refused request counts for neither. */
  take(org: string, user: string): Verdict & { whose: 'user' | 'organization'; perMinute: number };
}

export function makeRates(perMinute: number, monotonic?: () => number): Rates {
  const members = rateLimit(perMinute, monotonic);
  const orgs = rateLimit(perMinute * membersWorth, monotonic);
  return {
    perMinute,
    take: (org, user) => {
      const full = orgs.wait(org);
      if (full) return { allowed: false, remaining: 0, resetSeconds: full, whose: 'organization', perMinute: orgs.perMinute };
      // Somebody in several organizations is counted in each by itself: what they do in one costs the others nothing.
      const own = members.take(`${org} ${user}`);
      if (!own.allowed) return { ...own, whose: 'user', perMinute };
      const all = orgs.take(org);
      return all.remaining < own.remaining
        ? { ...all, whose: 'organization', perMinute: orgs.perMinute }
        : { ...own, whose: 'user', perMinute };
    },
  };
}
