/** The connections of an SMTP endpoint, over all of its ports: limited by address and in total. */
export interface ConnectionSlots {
  /** Undefined: this address has too many, or every connection is at work. */
  acquire(address: string, guest: SlotOwner): ConnectionSlot | undefined;
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
  guest: SlotOwner;
}

/**
 * At the total limit, a new connection evicts another. Connections without a login or an accepted message go first: the oldest of the
 * address that has the most of them. One in the middle of a message goes only if there is no other. Then the connection that has been idle
 * the longest goes. If all are at work, an address with at least two more than the newcomer's loses its oldest: endless messages do not
 * block the endpoint either.
 */
export function makeConnectionSlots(most: { each: number; all: number }): ConnectionSlots {
  const counts = new Map<string, number>();
  /** Connections without a login or an accepted message, in order of arrival. */
  const strangers = new Set<TakenSlot>();
  const strangersOf = new Map<string, number>();
  /** In order of their last login or message. */
  const known = new Set<TakenSlot>();

  const forgetStranger = (taken: TakenSlot) => {
    if (strangers.delete(taken)) addTo(strangersOf, taken.address, -1);
  };
  const leave = (taken: TakenSlot) => {
    if (!strangers.has(taken) && !known.has(taken)) return;
    forgetStranger(taken);
    known.delete(taken);
    addTo(counts, taken.address, -1);
  };
  const makePlace = (newcomer: string): boolean => {
    const isFree = ({ guest }: TakenSlot) => !guest.isBusy();
    const isIdle = ({ guest }: TakenSlot) => !guest.isAmidMessage();
    const most = (counts.get(newcomer) ?? 0) + 1;
    const goes =
      findEvictable(strangers, strangersOf, isIdle) ??
      findEvictable(strangers, strangersOf, isFree) ??
      [...known].find(isIdle) ??
      findEvictable(known, counts, (taken) => isFree(taken) && counts.get(taken.address)! > most);
    if (!goes) return false;
    leave(goes);
    goes.guest.evict();
    return true;
  };
  return {
    get size() {
      return strangers.size + known.size;
    },
    acquire(address, guest) {
      if ((counts.get(address) ?? 0) >= most.each) return undefined;
      if (strangers.size + known.size >= most.all && !makePlace(address)) return undefined;
      const taken = { address, guest };
      strangers.add(taken);
      addTo(strangersOf, address, 1);
      addTo(counts, address, 1);
      return {
        markKnown: () => {
          if (!strangers.has(taken) && !known.has(taken)) return;
          forgetStranger(taken);
          known.delete(taken);
          known.add(taken);
        },
        release: () => leave(taken),
      };
    },
  };
}

/** Among the evictable, the oldest of the address that has the most. */
function findEvictable(
  all: ReadonlySet<TakenSlot>,
  countOf: ReadonlyMap<string, number>,
  mayGo: (taken: TakenSlot) => boolean,
): TakenSlot | undefined {
  let [found, most]: [TakenSlot | undefined, number] = [undefined, 0];
  for (const taken of all) {
    const count = countOf.get(taken.address)!;
    if (count > most && mayGo(taken)) [found, most] = [taken, count];
  }
  return found;
}

function addTo(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}
