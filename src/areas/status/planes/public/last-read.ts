/** A cached page with its organization. */
export interface CacheItem {
  slug: string;
  page?: { org: string };
}

export interface LastRead<K extends CacheItem> {
  get(slug: string): K | undefined;
  set(slug: string, known: K): void;
  delete(slug: string): void;
  /** Whether one more page of this organization would evict others. */
  isFull(org: string): boolean;
}

interface Limits<K> {
  pages: number;
  bytes: number;
  bytesOf(known: K): number;
}

/** The largest share of one organization, as in the kernel's caches. */
const maxOrgShare = 1 / 4;
/** The cache counts as full below this free share. */
const minFreeShare = 1 / 8;

/** Keeps the last read state of each page. An organization above its share loses its own least recently read pages. */
export function makeLastRead<K extends CacheItem>({ pages, bytes, bytesOf }: Limits<K>): LastRead<K> {
  /** Least recently requested first. */
  const all = new Map<string, K>();
  let totalBytes = 0;
  /** Per organization: its cached pages, least recently read first, and their bytes. */
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
    shares.set(org, held);
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
      // The cache is full with many organizations: those above an equal share make space.
      return totalBytes > bytes * (1 - minFreeShare) && orgBytes > (bytes * (1 - minFreeShare)) / shares.size;
    },
  };
}
