/** What is remembered of a page, and how much it weighs. */
export interface CacheItem {
  slug: string;
  page?: { org: string };
}

export interface LastRead<K extends CacheItem> {
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
const maxOrgShare = 1 / 4;
/** Full is what has less than this part of it free. */
const minFreeShare = 1 / 8;

/** What was read last of each page. An organization that has more than its share loses what was read longest ago of its own. */
export function makeLastRead<K extends CacheItem>({ pages, bytes, bytesOf }: Limits<K>): LastRead<K> {
  /** Those that nobody has asked for longest come first. */
  const all = new Map<string, K>();
  let totalBytes = 0;
  /** By organization, the pages that are here, those that were read longest ago first, and what they weigh. */
  const shares = new Map<string, { slugs: Set<string>; bytes: number }>();

  const remove = (slug: string) => {
    const known = all.get(slug);
    if (!known) return;
    const org = known.page?.org ?? '';
    const held = shares.get(org)!;
    all.delete(slug);
    held.slugs.delete(slug);
    held.bytes -= bytesOf(known);
    totalBytes -= bytesOf(known);
    if (held.slugs.size === 0) shares.delete(org);
  };
  const add = (slug: string, known: K) => {
    const org = known.page?.org ?? '';
    const held = shares.get(org) ?? { slugs: new Set(), bytes: 0 };
    shares.set(org, of);
    all.set(slug, known);
    held.slugs.add(slug);
    held.bytes += bytesOf(known);
    totalBytes += bytesOf(known);
    return held;
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
      const held = add(slug, known);
      for (const oldest of held.slugs) {
        if (held.bytes <= bytes * maxOrgShare && held.slugs.size <= pages * maxOrgShare) break;
        remove(oldest);
      }
      for (const oldest of all.keys()) {
        if (totalBytes <= bytes && all.size <= pages) break;
        remove(oldest);
      }
    },
    delete: remove,
    isFull: (org) => {
      const orgBytes = shares.get(org)?.bytes ?? 0;
      if (orgBytes > bytes * maxOrgShare * (1 - minFreeShare)) return true;
      // Many organizations together: whoever has more than an equal part makes room, and the others are read anew.
      return totalBytes > bytes * (1 - minFreeShare) && orgBytes > (bytes * (1 - minFreeShare)) / shares.size;
    },
  };
}
