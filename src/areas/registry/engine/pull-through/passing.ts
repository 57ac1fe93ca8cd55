import { RegistryError } from '../../rules/errors.ts';

/** So many readers of an organization get layers straight from an upstream at once, because its registry has no room for them. Enough for
 *  one client that pulls an image; each costs the upstream the whole layer once more. */
export const passedAtOnce = 8;

export interface Passing {
  /** Takes a place, which the returned function gives back; a second time it does nothing. Throws when none is free. */
  enter(org: string): () => void;
}

export function makePassing(): Passing {
  const inside = new Map<string, number>();
  return {
    enter: (org) => {
      const count = inside.get(org) ?? 0;
      if (count >= passedAtOnce)
        throw new RegistryError(
          'TOOMANYREQUESTS',
          `the registry has no room for this layer, and ${passedAtOnce} are passed on from upstreams to your organization already; try again in a moment, or delete images`,
          { retrySeconds: 5 },
        );
      inside.set(org, count + 1);
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        const left = inside.get(org)! - 1;
        if (left > 0) inside.set(org, left);
        else inside.delete(org);
      };
    },
  };
}
