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
  /** Those that nobody has asked for longest come first. */
  const all = new Map<string, K>();
  let weight = 0;
  /** By organization, the pages that are here, those that were read longest ago first, and what they weigh. */
  const shares = new Map<string, { slugs: Set<string>; bytes: number }>();

  const remove = (slug: string) => {
    const known = all.get(slug);
    if (!known) return;
    const org = known.page?.org ?? '';
    const of = shares.get(org)!;
    all.delete(slug);
    of.slugs.delete(slug);
    of.bytes -= bytesOf(known);
    weight -= bytesOf(known);
    if (of.slugs.size === 0) shares.delete(org);
  };
  const add = (slug: string, known: K) => {
    const org = known.page?.org ?? '';
    const of = shares.get(org) ?? { slugs: new Set(), bytes: 0 };
    shares.set(org, of);
    all.set(slug, known);
    of.slugs.add(slug);
    of.bytes += bytesOf(known);
    weight += bytesOf(known);
    return of;
  };
  return {
    get: (slug) => {
      const known = all.get(slug);
      if (!known) return undefined;
      all.delete(slug);
      all.set(slug, known);
      return known;
    },
    set: (slug, known) => {
      remove(slug);
      const of = add(slug, known);
      for (const oldest of of.slugs) {
        if (of.bytes <= bytes * share && of.slugs.size <= pages * share) break;
        remove(oldest);
      }
      for (const oldest of all.keys()) {
        if (weight <= bytes && all.size <= pages) break;
        remove(oldest);
      }
    },
    delete: remove,
    isFull: (org) => {
      const its = shares.get(org)?.bytes ?? 0;
      if (its > bytes * share * (1 - spare)) return true;
      // Many organizations together: whoever has more than an equal part makes room, and the others are read anew.
      return weight > bytes * (1 - spare) && its > (bytes * (1 - spare)) / shares.size;
    },
  };
}
