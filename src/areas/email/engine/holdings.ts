/** Something that this process has under its lease. */
interface Leased {
  id: number;
  lease: string;
}

/** What this process works on: a bounded number. An organization may have as much of it as is left for the others: one by itself half, two a third
 *  each. So there is always room for whoever has little, whatever the others' mail waits for. */
export interface Holdings<T extends Leased> {
  readonly items: ReadonlyMap<number, T>;
  /** In all and of each organization, what is only reserved included. */
  readonly count: number;
  readonly byOrg: ReadonlyMap<string, number>;
  readonly perOrg: number;
  readonly room: number;
  /** Room for one more, if there is any. */
  reserve(org: string): boolean;
  /** Room for one more, whatever there is: it was claimed. */
  take(org: string): void;
  release(org: string): void;
  /** What room was taken for. Its bytes are kept in memory if there is room for them, else they are read again. */
  add(item: T): T;
  remove(item: T): void;
  /** No more room from now on. */
  close(): void;
}

export interface HoldingsOptions<T> {
  most: number;
  /** Bytes of what just came in are kept in memory up to so many, and none of what is larger than `each`. */
  bytes: { most: number; each: number };
  orgOf(item: T): string;
  bytesOf(item: T): Buffer | undefined;
  withoutBytes(item: T): T;
}

export function keepHoldings<T extends Leased>({ most, bytes, orgOf, bytesOf, withoutBytes }: HoldingsOptions<T>): Holdings<T> {
  const items = new Map<number, T>();
  const byOrg = new Map<string, number>();
  let count = 0;
  let kept = 0;
  let isClosed = false;

  const shareOf = () => Math.max(1, Math.min(Math.ceil(most / 2), most - count));
  const take = (org: string) => {
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
    kept -= bytesOf(held)?.length ?? 0;
    release(orgOf(held));
  };
  return {
    items,
    byOrg,
    get count() {
      return count;
    },
    get perOrg() {
      return shareOf();
    },
    get room() {
      return isClosed ? 0 : Math.max(0, most - count);
    },
    reserve(org) {
      if (isClosed || count >= most || (byOrg.get(org) ?? 0) >= shareOf()) return false;
      take(org);
      return true;
    },
    take,
    release,
    add(item) {
      // A lease of ours may lapse before it is held here, and be claimed again: it has one place all the same.
      const before = items.get(item.id);
      if (before) remove(before);
      const size = bytesOf(item)?.length ?? 0;
      const held = size <= bytes.each && kept + size <= bytes.most ? item : withoutBytes(item);
      kept += bytesOf(held)?.length ?? 0;
      items.set(held.id, held);
      return held;
    },
    remove,
    close() {
      isClosed = true;
    },
  };
}
