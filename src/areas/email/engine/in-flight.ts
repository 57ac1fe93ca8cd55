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

export const makeInFlight = <T extends LeasedItem>(options: InFlightOptions<T>): InFlight<T> => new LeasedItems(options);

class LeasedItems<T extends LeasedItem> implements InFlight<T> {
  readonly items = new Map<number, T>();
  readonly byOrg = new Map<string, number>();
  readonly #options: InFlightOptions<T>;
  #count = 0;
  #inlineBytes = 0;
  #isClosed = false;

  constructor(options: InFlightOptions<T>) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  get maxPerOrg(): number {
    const { maxItems } = this.#options;
    return Math.max(1, Math.min(Math.ceil(maxItems / 2), maxItems - this.#count));
  }

  get freeSlots(): number {
    return this.#isClosed ? 0 : Math.max(0, this.#options.maxItems - this.#count);
  }

  reserve(org: string): boolean {
    if (this.#isClosed || this.#count >= this.#options.maxItems || (this.byOrg.get(org) ?? 0) >= this.maxPerOrg) return false;
    this.reserveClaimed(org);
    return true;
  }

  reserveClaimed(org: string): void {
    this.#count++;
    this.byOrg.set(org, (this.byOrg.get(org) ?? 0) + 1);
  }

  release(org: string): void {
    const left = (this.byOrg.get(org) ?? 0) - 1;
    if (left < 0) return;
    this.#count--;
    if (left > 0) this.byOrg.set(org, left);
    else this.byOrg.delete(org);
  }

  add(item: T): T {
    const { bytesOf, withoutBytes } = this.#options;
    // Our own lease may lapse before the item is added here, and be claimed again: the item still has one slot.
    const before = this.items.get(item.id);
    if (before) this.remove(before);
    const kept = this.#fitsBudget(bytesOf(item)?.length ?? 0) ? item : withoutBytes(item);
    this.#inlineBytes += bytesOf(kept)?.length ?? 0;
    this.items.set(kept.id, kept);
    return kept;
  }

  remove(item: T): void {
    const { bytesOf, orgOf } = this.#options;
    const kept = this.items.get(item.id);
    if (kept?.lease !== item.lease) return;
    this.items.delete(item.id);
    this.#inlineBytes -= bytesOf(kept)?.length ?? 0;
    this.release(orgOf(kept));
  }

  close(): void {
    this.#isClosed = true;
  }

  #fitsBudget(size: number): boolean {
    const { maxPerItem, maxTotal } = this.#options.bytes;
    return size <= maxPerItem && this.#inlineBytes + size <= maxTotal;
  }
}
