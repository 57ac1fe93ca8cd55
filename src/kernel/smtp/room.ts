/** The connections of a door, over all of its ports: bounded by address and in all. */
export interface Room {
  /** Undefined: this address has too many, or everybody here is at work. */
  enter(address: string, guest: Guest): Seat | undefined;
  readonly size: number;
}

/** A connection that may have to go for another one. */
export interface Guest {
  /** Ends it at once, with 421 where that can be said. */
  sendAway(): void;
  /** It waits for our answer: what it handed over may be accepted already. */
  isBusy(): boolean;
  /** It is busy, or in the middle of a message, from its first recipient on. */
  isAtWork(): boolean;
}

export interface Seat {
  /** It has logged in, or a message of it was accepted. */
  prove(): void;
  leave(): void;
}

interface Taken {
  address: string;
  guest: Guest;
}

/**
 * A full room makes place for a newcomer. The connections without a login or an accepted message go first: of the address that has the most of
 * them, the oldest, and one in the middle of a message only if there is no other. Then the one that has been idle the longest goes. If all are at
 * work, an address that has at least two more than the newcomer's loses its oldest: messages that never end do not close the door either.
 */
export function makeRoom(most: { each: number; all: number }): Room {
  const counts = new Map<string, number>();
  /** In the order in which they came. */
  const strangers = new Set<Taken>();
  const strangersOf = new Map<string, number>();
  /** In the order of their last login or message. */
  const known = new Set<Taken>();

  const forgetStranger = (taken: Taken) => {
    if (strangers.delete(taken)) addTo(strangersOf, taken.address, -1);
  };
  const leave = (taken: Taken) => {
    if (!strangers.has(taken) && !known.has(taken)) return;
    forgetStranger(taken);
    known.delete(taken);
    addTo(counts, taken.address, -1);
  };
  const makePlace = (newcomer: string): boolean => {
    const isFree = ({ guest }: Taken) => !guest.isBusy();
    const isIdle = ({ guest }: Taken) => !guest.isAtWork();
    const most = (counts.get(newcomer) ?? 0) + 1;
    const goes =
      findCrowded(strangers, strangersOf, isIdle) ??
      findCrowded(strangers, strangersOf, isFree) ??
      [...known].find(isIdle) ??
      findCrowded(known, counts, (taken) => isFree(taken) && counts.get(taken.address)! > most);
    if (!goes) return false;
    leave(goes);
    goes.guest.sendAway();
    return true;
  };
  return {
    get size() {
      return strangers.size + known.size;
    },
    enter(address, guest) {
      if ((counts.get(address) ?? 0) >= most.each) return undefined;
      if (strangers.size + known.size >= most.all && !makePlace(address)) return undefined;
      const taken = { address, guest };
      strangers.add(taken);
      addTo(strangersOf, address, 1);
      addTo(counts, address, 1);
      return {
        prove: () => {
          if (!strangers.has(taken) && !known.has(taken)) return;
          forgetStranger(taken);
          known.delete(taken);
          known.add(taken);
        },
        leave: () => leave(taken),
      };
    },
  };
}

/** Of those that may go, the oldest of the address that has the most. */
function findCrowded(all: ReadonlySet<Taken>, countOf: ReadonlyMap<string, number>, mayGo: (taken: Taken) => boolean): Taken | undefined {
  let [found, most]: [Taken | undefined, number] = [undefined, 0];
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
