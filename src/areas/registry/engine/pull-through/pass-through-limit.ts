import { RegistryError } from '../../rules/errors.ts';

/**
 * Concurrent pass-through downloads of one organization, for layers that do not fit the quota. Enough for one client that pulls an image;
 * each costs the upstream a full download.
 */
export const maxPassThroughPerOrg = 8;

export interface PassThroughLimit {
  /** Takes a slot. The returned function releases it and may be called twice. Throws TOOMANYREQUESTS when all slots are taken. */
  acquire(org: string): () => void;
}

export function makePassThroughLimit(): PassThroughLimit {
  const inFlight = new Map<string, number>();
  return {
    acquire: (org) => {
      const count = inFlight.get(org) ?? 0;
      if (count >= maxPassThroughPerOrg)
        throw new RegistryError(
          'TOOMANYREQUESTS',
          `the registry has no room for this layer, and ${maxPassThroughPerOrg} are passed on from upstreams to your organization already; try again in a moment, or delete images`,
          { retryAfterSeconds: 5 },
        );
      inFlight.set(org, count + 1);
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        const left = inFlight.get(org)! - 1;
        if (left > 0) inFlight.set(org, left);
        else inFlight.delete(org);
      };
    },
  };
}
