/** An item leased by this process. */
interface LeasedItem {
  id: number;
  lease: string;
}

/**
 * The leased items that this process works on, limited in number. One organization may hold at most as many as are left free for the others:
 * one organization half, two a third each. So an organization with few items always finds a slot.
 */
export interface InFlight<T extends LeasedItem> {
  readonly items: ReadonlyMap<number, T>;
  /** Reservations included. */
  readonly count: number;
  readonly byOrg: ReadonlyMap<string, number>;
  readonly maxPerOrg: number;
  readonly freeSlots: number;
  /** Reserves a slot; false if the organization or the process is at its limit. */
  reserve(org: string): boolean;
  /** Reserves a slot for an item that is leased already, regardless of the limits. */
  reserveClaimed(org: string): void;
  release(org: string): void;
  /** Fills a reserved slot. The item keeps its bytes only within the byte budget; otherwise they are read again. */
  add(item: T): T;
  remove(item: T): void;
  /** Refuses every further reservation. */
  close(): void;
}

export interface InFlightOptions<T> {
  maxItems: number;
  /** Budget for bytes that are still in memory from intake. */
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
      // Our own lease may lapse before the item is added here, and be claimed again: the item still has one slot.
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
