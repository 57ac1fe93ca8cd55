export interface ByteBudgetOptions {
  total: number;
  /** The most bytes of one holder, by its kind. */
  maxPerHolder: Record<HolderKind, number>;
  /** The most that one holder of a kind may have of the free bytes: however many holders there are, a new one finds room. */
  maxShareOfFree?: Partial<Record<HolderKind, number>>;
  /** The most bytes of all holders of a kind. Addresses can be any number, so they leave the rest to the other kinds. */
  maxPerKind?: Partial<Record<HolderKind, number>>;
}

const kinds = ['org', 'credential', 'address'] as const;
export type HolderKind = (typeof kinds)[number];

/** The holders that bytes are charged to, such as an organization and its token. Bytes count against every one of them. */
export type Holders = Partial<Record<HolderKind, string | readonly string[]>>;

/** A bound on the memory that callers occupy, such as bodies that are being read. */
export interface ByteBudget {
  open(holders: Holders): ByteReservation;
  /** Bytes by organization, for the metrics. */
  figures(): { total: number; orgs: { org: string; bytes: number }[] };
}

export interface ByteReservation {
  /** Reserves bytes before they are buffered. False when there is no room; then nothing is reserved. */
  reserve(bytes: number): boolean;
  /** Runs work on the bytes. They stay reserved until it ends, also when `release` is called meanwhile. */
  holdWhile<T>(work: () => Promise<T>): Promise<T>;
  /** Releases all of them; idempotent. */
  release(): void;
}

const namesOf = (names: string | readonly string[] = []): readonly string[] => (typeof names === 'string' ? [names] : names);

/** The last eighth is reserved for small bodies: a few senders of large ones never keep an alert out. */
const smallBytes = 65_536;

export function makeByteBudget({
  total,
  maxPerHolder: most,
  maxShareOfFree: leaving = {},
  maxPerKind: together = {},
}: ByteBudgetOptions): ByteBudget {
  const held = new Map<string, number>();
  const roomOfLarge = total - total / 8;
  let all = 0;

  const open = (holders: Holders): ByteReservation => {
    const shares: { place: string; most: number; part: number | undefined }[] = [];
    for (const kind of kinds) {
      const names = namesOf(holders[kind]);
      for (const name of names) shares.push({ place: `${kind} ${name}`, most: most[kind], part: leaving[kind] });
      if (names.length > 0 && together[kind] !== undefined) shares.push({ place: kind, most: together[kind], part: undefined });
    }
    const hasRoom = ({ place, most, part }: (typeof shares)[number], bytes: number) => {
      const theirs = (held.get(place) ?? 0) + bytes;
      return theirs <= most && (part === undefined || theirs <= Math.max(smallBytes, (roomOfLarge - all - bytes) * part));
    };
    let mine = 0;
    let inUse = 0;
    let isOver = false;
    const giveBack = () => {
      all -= mine;
      for (const { place } of shares) {
        const left = (held.get(place) ?? 0) - mine;
        if (left > 0) held.set(place, left);
        else held.delete(place);
      }
      mine = 0;
    };
    return {
      reserve: (bytes) => {
        const room = mine + bytes > smallBytes ? roomOfLarge : total;
        if (isOver || all + bytes > room || !shares.every((share) => hasRoom(share, bytes))) return false;
        for (const { place } of shares) held.set(place, (held.get(place) ?? 0) + bytes);
        all += bytes;
        mine += bytes;
        return true;
      },
      holdWhile: async (work) => {
        inUse++;
        try {
          return await work();
        } finally {
          inUse--;
          if (isOver && inUse === 0) giveBack();
        }
      },
      release: () => {
        isOver = true;
        if (inUse === 0) giveBack();
      },
    };
  };

  return {
    open,
    figures: () => ({
      total: all,
      orgs: [...held].flatMap(([place, bytes]) => (place.startsWith('org ') ? [{ org: place.slice(4), bytes }] : [])),
    }),
  };
}
