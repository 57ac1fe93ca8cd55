import { LRUCache } from 'lru-cache';

/** What is remembered of a page, and how much it weighs. */
export interface Weighed {
  slug: string;
  page?: { org: string };
}

export interface LastRead<K extends Weighed> {
  get(slug: string): K | undefined;
  set(slug: string, known: K): void;
  delete(slug: string): void;
  /** Whether one more page of this organization would drive out others. */
  isFull(org: string): boolean;
}

interface Limits<K> {
  pages: number;
  bytes: number;
  bytesOf(known: K): number;
}

/** An organization has this part of it at most, as in the caches of the kernel. */
const share = 1 / 4;
/** Full is what has less than this part of it free. */
const spare = 1 / 8;

/** What was read last of each page. An organization that has more than its share loses what was read longest ago of its own. */
export function makeLastRead<K extends Weighed>({ pages, bytes, bytesOf }: Limits<K>): LastRead<K> {
  /** By organization, the pages that are here, those that were read longest ago first, and what they weigh. */
  const shares = new Map<string, { slugs: Set<string>; bytes: number }>();
  const forget = (known: K) => {
    const of = shares.get(known.page?.org ?? '');
    if (!of?.slugs.delete(known.slug)) return;
    of.bytes -= bytesOf(known);
    if (of.slugs.size === 0) shares.delete(known.page?.org ?? '');
  };
  // The library calls `dispose` in the middle of its own work: only the count is kept there.
  const all = new LRUCache<string, K>({ max: pages, maxSize: bytes, sizeCalculation: bytesOf, dispose: forget });
  const note = (known: K) => {
    const org = known.page?.org ?? '';
    const of = shares.get(org) ?? { slugs: new Set(), bytes: 0 };
    shares.set(org, of);
    of.slugs.add(known.slug);
    of.bytes += bytesOf(known);
    return of;
  };
  return {
    get: (slug) => all.get(slug),
    set: (slug, known) => {
      all.set(slug, known);
      if (all.peek(slug) !== known) return;
      const of = note(known);
      for (const oldest of of.slugs) {
        if (of.bytes <= bytes * share && of.slugs.size <= pages * share) break;
        all.delete(oldest);
      }
    },
    delete: (slug) => void all.delete(slug),
    isFull: (org) => {
      const weight = shares.get(org)?.bytes ?? 0;
      if (weight > bytes * share * (1 - spare)) return true;
      // Many organizations together: whoever has more than an equal part makes room, and the others are read anew.
      return all.calculatedSize > bytes * (1 - spare) && weight > (bytes * (1 - spare)) / shares.size;
    },
  };
}
