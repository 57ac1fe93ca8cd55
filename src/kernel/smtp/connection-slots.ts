/** The connections of an SMTP endpoint, over all of its ports: limited by address and in total. */
export interface ConnectionSlots {
  /** Undefined: this address has too many, or every connection is at work. */
  acquire(address: string, owner: SlotOwner): ConnectionSlot | undefined;
  readonly size: number;
}

/** A connection that may be evicted for another one. */
export interface SlotOwner {
  /** Closes it at once, with 421 where that can be sent. */
  evict(): void;
  /** It waits for our reply: its message may be accepted already. */
  isBusy(): boolean;
  /** It is busy, or in the middle of a message, from its first recipient on. */
  isAmidMessage(): boolean;
}

export interface ConnectionSlot {
  /** It has logged in, or one of its messages was accepted. */
  markKnown(): void;
  release(): void;
}

interface TakenSlot {
  address: string;
  owner: SlotOwner;
}

/**
 * At the total limit, a new connection evicts another. Connections without a login or an accepted message go first: the oldest of the
 * address that has the most of them. One in the middle of a message goes only if there is no other. Then the connection that has been idle
 * the longest goes. If all are at work, an address with at least two more than the newcomer's loses its oldest: endless messages do not
 * block the endpoint either.
 */
export function makeConnectionSlots(limits: { each: number; all: number }): ConnectionSlots {
  const counts = new Map<string, number>();
  /** Connections without a login or an accepted message, in order of arrival. */
  const unknown = new Set<TakenSlot>();
  const unknownByAddress = new Map<string, number>();
  /** In order of their last login or message. */
  const known = new Set<TakenSlot>();

  const removeUnknown = (taken: TakenSlot) => {
    if (unknown.delete(taken)) addTo(unknownByAddress, taken.address, -1);
  };
  const release = (taken: TakenSlot) => {
    if (!unknown.has(taken) && !known.has(taken)) return;
    removeUnknown(taken);
    known.delete(taken);
    addTo(counts, taken.address, -1);
  };
  const evictOne = (newcomer: string): boolean => {
    const isFree = ({ owner }: TakenSlot) => !owner.isBusy();
    const isIdle = ({ owner }: TakenSlot) => !owner.isAmidMessage();
    const newcomerCount = (counts.get(newcomer) ?? 0) + 1;
    const evicted =
      findEvictable(unknown, unknownByAddress, isIdle) ??
      findEvictable(unknown, unknownByAddress, isFree) ??
      [...known].find(isIdle) ??
      findEvictable(known, counts, (taken) => isFree(taken) && counts.get(taken.address)! > newcomerCount);
    if (!evicted) return false;
    release(evicted);
    evicted.owner.evict();
    return true;
  };
  return {
    get size() {
      return unknown.size + known.size;
    },
    acquire(address, owner) {
      if ((counts.get(address) ?? 0) >= limits.each) return undefined;
      if (unknown.size + known.size >= limits.all && !evictOne(address)) return undefined;
      const taken = { address, owner };
      unknown.add(taken);
      addTo(unknownByAddress, address, 1);
      addTo(counts, address, 1);
      return {
        markKnown: () => {
          if (!unknown.has(taken) && !known.has(taken)) return;
          removeUnknown(taken);
          known.delete(taken);
          known.add(taken);
        },
        release: () => release(taken),
      };
    },
  };
}

/** Among the evictable, the oldest of the address that has the most. */
function findEvictable(
  all: ReadonlySet<TakenSlot>,
  countOf: ReadonlyMap<string, number>,
  isEvictable: (taken: TakenSlot) => boolean,
): TakenSlot | undefined {
  let [found, highest]: [TakenSlot | undefined, number] = [undefined, 0];
  for (const taken of all) {
    const count = countOf.get(taken.address)!;
    if (count > highest && isEvictable(taken)) [found, highest] = [taken, count];
  }
  return found;
}

function addTo(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}
