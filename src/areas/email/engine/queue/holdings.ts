import type { Born } from './index.ts';

/** What this process works on: a bounded number. An organization may have as much of it as is left for the others: one by itself half, two a third
 *  each. So there is always room for whoever has little, whatever the others' mail waits for. */
export interface Holdings {
  readonly items: ReadonlyMap<number, Born>;
  /** In all and of each organization, what is only reserved included. */
  readonly count: number;
  readonly byOrg: ReadonlyMap<string, number>;
  readonly perOrg: number;
  readonly room: number;
  /** Room for one more, if there is any. */
  reserve(org: string): boolean;
  /** Room for one more, whatever there is: it was claimed. */
  take(org: string): void;
  giveBack(org: string): void;
  /** What room was taken for. Its bytes are kept in memory if there is room for them, else they are read again. */
  add(item: Born): Born;
  remove(item: Born): void;
  /** No more room from now on. */
  close(): void;
}

/** Bodies of messages that just came in are kept in memory up to so many bytes. */
const mostBytes = 32 * 2 ** 20;

export function makeHoldings(most: number): Holdings {
  const items = new Map<number, Born>();
  const byOrg = new Map<string, number>();
  let count = 0;
  let bytes = 0;
  let isClosed = false;

  const shareOf = () => Math.max(1, Math.min(Math.ceil(most / 2), most - count));
  const take = (org: string) => {
    count++;
    byOrg.set(org, (byOrg.get(org) ?? 0) + 1);
  };
  const giveBack = (org: string) => {
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
    get count() {
      return count;
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
    giveBack,
    add({ inline, ...bare }) {
      const item = inline && bytes + inline.length <= mostBytes ? { ...bare, inline } : bare;
      bytes += item === bare ? 0 : inline!.length;
      items.set(item.id, item);
      return item;
    },
    remove(item) {
      if (!items.delete(item.id)) return;
      bytes -= item.inline?.length ?? 0;
      giveBack(item.org);
    },
    close() {
      isClosed = true;
    },
  };
}
