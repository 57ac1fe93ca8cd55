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
  /** Those that were asked for longest ago first. */
  const all = new Map<string, { known: K; org: string; weight: number }>();
  let total = 0;
  /** By organization, the pages that are here, those that were read longest ago first, and what they weigh. */
  const shares = new Map<string, { slugs: Set<string>; bytes: number }>();

  const forget = (slug: string) => {
    const entry = all.get(slug);
    if (!entry) return;
    const of = shares.get(entry.org)!;
    all.delete(slug);
    total -= entry.weight;
    of.slugs.delete(slug);
    of.bytes -= entry.weight;
    if (of.slugs.size === 0) shares.delete(entry.org);
  };
  const keep = (slug: string, known: K) => {
    const org = known.page?.org ?? '';
    const weight = bytesOf(known);
    const of = shares.get(org) ?? { slugs: new Set(), bytes: 0 };
    shares.set(org, of);
    all.set(slug, { known, org, weight });
    total += weight;
    of.slugs.add(slug);
    of.bytes += weight;
    return of;
  };
  return {
    get: (slug) => {
      const entry = all.get(slug);
      if (!entry) return undefined;
      all.delete(slug);
      all.set(slug, entry);
      return entry.known;
    },
    set: (slug, known) => {
      forget(slug);
      const of = keep(slug, known);
      for (const oldest of of.slugs) {
        if (of.bytes <= bytes * share && of.slugs.size <= pages * share) break;
        forget(oldest);
      }
      for (const oldest of all.keys()) {
        if (total <= bytes && all.size <= pages) break;
        forget(oldest);
      }
    },
    delete: forget,
    isFull: (org) => {
      const weight = shares.get(org)?.bytes ?? 0;
      if (weight > bytes * share * (1 - spare)) return true;
      // Many organizations together: whoever has more than an equal part makes room, and the others are read anew.
      return total > bytes * (1 - spare) && weight > (bytes * (1 - spare)) / shares.size;
    },
  };
}
