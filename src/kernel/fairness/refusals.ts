import { LRUCache } from 'lru-cache';
import { boundedTo } from '../bounded-map.ts';
import type { Logger } from '../log.ts';

/** Counts refusals by resource and organization, for the metrics; at most one log line in ten seconds. */
export interface Refusals {
  /** The counter of one resource. */
  of(share: string): (org: string) => void;
  figures(): { share: string; org: string; count: number }[];
}

const toldEveryMs = 10_000;

export function makeRefusals(log: Logger): Refusals {
  const counts = new LRUCache<string, { share: string; org: string; count: number }>(boundedTo(1_000));
  return {
    of: (share) => {
      let toldAt = -Infinity;
      return (org) => {
        const place = `${share} ${org}`;
        counts.set(place, { share, org, count: (counts.peek(place)?.count ?? 0) + 1 });
        if (performance.now() - toldAt < toldEveryMs) return;
        toldAt = performance.now();
        log.warn({ share, org }, 'somebody was refused because their share is used up; others may have been in the last ten seconds');
      };
    },
    figures: () => [...counts.values()],
  };
}
