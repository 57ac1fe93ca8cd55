import type { ArrivalRow } from '../../store/arrivals.ts';

/** What arrived and is under this process's lease. */
export type HeldArrival = Omit<ArrivalRow, 'received_at' | 'late_ms' | 'place'> & {
  /** Its bytes, if it just came in. */
  raw?: Buffer;
};

/** What this process reads: a bounded number. As in the queue of what is sent, an organization has as much of it as it leaves to the others. */
export interface Holdings {
  readonly items: ReadonlyMap<number, HeldArrival>;
  /** Of each organization, what is only reserved included. */
  readonly byOrg: ReadonlyMap<string, number>;
  readonly perOrg: number;
  readonly room: number;
  /** Room for one more, if there is any. */
  reserve(org: string): boolean;
  release(org: string): void;
  /** What was claimed, whatever room there is. */
  take(org: string): void;
  /** What room was taken for. Its bytes are kept in memory if there is room for them, else they are read again. */
  add(arrival: HeldArrival): HeldArrival;
  remove(arrival: HeldArrival): void;
  /** No more room from now on. */
  close(): void;
}

/** Bytes of what just came in are kept in memory up to so many, and none of what is larger. */
const most = { held: 512, bytes: 8 * 2 ** 20, each: 65_536 };

export function makeHoldings(): Holdings {
  const items = new Map<number, HeldArrival>();
  const byOrg = new Map<string, number>();
  let count = 0;
  let bytes = 0;
  let isClosed = false;

  const shareOf = () => Math.max(1, Math.min(most.held / 2, most.held - count));
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
  return {
    items,
    byOrg,
    get perOrg() {
      return shareOf();
    },
    get room() {
      return isClosed ? 0 : Math.max(0, most.held - count);
    },
    reserve(org) {
      if (isClosed || count >= most.held || (byOrg.get(org) ?? 0) >= shareOf()) return false;
      take(org);
      return true;
    },
    release,
    take,
    add({ raw, ...bare }) {
      const isKept = raw !== undefined && raw.length <= most.each && bytes + raw.length <= most.bytes;
      const held = isKept ? { ...bare, raw } : bare;
      if (isKept) bytes += raw.length;
      items.set(held.id, held);
      return held;
    },
    remove(arrival) {
      if (!items.delete(arrival.id)) return;
      bytes -= arrival.raw?.length ?? 0;
      release(arrival.org_id);
    },
    close() {
      isClosed = true;
    },
  };
}
