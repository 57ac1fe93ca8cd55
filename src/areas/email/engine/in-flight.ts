/** Something that this process has under its lease. */
interface LeasedItem {
  id: number;
  lease: string;
}

/** What this process works on: a bounded number. An organization may have as much of it as is left for the others: one by itself half, two a third
 *  each. So there is always room for whoever has little, whatever the others' mail waits for. */
export interface InFlight<T extends LeasedItem> {
  readonly items: ReadonlyMap<number, T>;
  /** In all and of each organization, what is only reserved included. */
  readonly count: number;
  readonly byOrg: ReadonlyMap<string, number>;
  readonly maxPerOrg: number;
  readonly freeSlots: number;
  /** Room for one more, if there is any. */
  reserve(org: string): boolean;
  /** Room for one more, whatever there is: it was claimed. */
  reserveClaimed(org: string): void;
  release(org: string): void;
  /** What room was taken for. Its bytes are kept in memory if there is room for them, else they are read again. */
  add(item: T): T;
  remove(item: T): void;
  /** No more room from now on. */
  close(): void;
}

export interface InFlightOptions<T> {
  maxItems: number;
  /** Bytes of what just came in are kept in memory up to so many, and none of what is larger than `each`. */
  bytes: { maxTotal: number; maxPerItem: number };
  orgOf(item: T): string;
  bytesOf(item: T): Buffer | undefined;
  withoutBytes(item: T): T;
}

export function makeInFlight<T extends LeasedItem>({ maxItems, bytes, orgOf, bytesOf, withoutBytes }: InFlightOptions<T>): InFlight<T> {
  const items = new Map<number, T>();
  const byOrg = new Map<string, number>();
  let count = 0;
  let inlineBytes = 0;
  let isClosed = false;

  const shareOf = () => Math.max(1, Math.min(Math.ceil(maxItems / 2), maxItems - count));
  const reserveClaimed = (org: string) => {
    count++;
    byOrg.set(org, (byOrg.get(org) ?? 0) + 1);
  };
  const release = (org: string) => {
    const left = (byOrg.get(org) ?? 0) - 1;
    if (left < 0) return;
    count--;
    if (left > 0) byOrg.set(org, left);
    else byOrg.delete(org);
  };
  const remove = (item: T) => {
    const held = items.get(item.id);
    if (held?.lease !== item.lease) return;
    items.delete(item.id);
    inlineBytes -= bytesOf(held)?.length ?? 0;
    release(orgOf(held));
  };
  return {
    items,
    byOrg,
    get count() {
      return count;
    },
    get maxPerOrg() {
      return shareOf();
    },
    get freeSlots() {
      return isClosed ? 0 : Math.max(0, maxItems - count);
    },
    reserve(org) {
      if (isClosed || count >= maxItems || (byOrg.get(org) ?? 0) >= shareOf()) return false;
      reserveClaimed(org);
      return true;
    },
    reserveClaimed,
    release,
    add(item) {
      // A lease of ours may lapse before it is held here, and be claimed again: it has one place all the same.
      const before = items.get(item.id);
      if (before) remove(before);
      const size = bytesOf(item)?.length ?? 0;
      const held = size <= bytes.maxPerItem && inlineBytes + size <= bytes.maxTotal ? item : withoutBytes(item);
      inlineBytes += bytesOf(held)?.length ?? 0;
      items.set(held.id, held);
      return held;
    },
    remove,
    close() {
      isClosed = true;
    },
  };
}
