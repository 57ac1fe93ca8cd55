import { makeKeyedLimit } from '../../../../kernel/fairness/index.ts';
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
  const limit = makeKeyedLimit({ each: maxPassThroughPerOrg, all: Number.POSITIVE_INFINITY });
  return {
    acquire: (org) => {
      const release = limit.acquire(org);
      if (release) return release;
      throw new RegistryError(
        'TOOMANYREQUESTS',
        `the registry has no room for this layer, and ${maxPassThroughPerOrg} are passed on from upstreams to your organization already; try again in a moment, or delete images`,
        { retryAfterSeconds: 5 },
      );
    },
  };
}
