export interface ByteBudgetOptions {
  total: number;
  /** What one holder may have of it at once, by what kind of holder it is. */
  most: Record<HolderKind, number>;
  /** Of these kinds nobody may have more than this part of what is left: however many of them there are, another one finds room. */
  leaving?: Partial<Record<HolderKind, number>>;
  /** What all of a kind may have together. Whoever can be as many as they like, such as addresses, leaves the rest to the others. */
  together?: Partial<Record<HolderKind, number>>;
}

const kinds = ['org', 'credential', 'address'] as const;
export type HolderKind = (typeof kinds)[number];

/** Those in whose name bytes are held, such as an organization and its token: each has a share, and bytes count against all of them. */
export type Holders = Partial<Record<HolderKind, string | readonly string[]>>;

/** Bytes in memory that callers make us hold, such as bodies that are being read. */
export interface ByteBudget {
  open(holders: Holders): HeldBytes;
  /** What each organization holds at this moment, for the metrics. */
  figures(): { total: number; orgs: { org: string; bytes: number }[] };
}

export interface HeldBytes {
  /** Counts them before they are kept. False, and nothing counted: there is no room. */
  take(bytes: number): boolean;
  /** Does something with them: until it is over they stay counted, whoever says meanwhile that they end. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Gives all of them back; a second time does nothing. */
  end(): void;
}

const namesOf = (names: string | readonly string[] = []): readonly string[] => (typeof names === 'string' ? [names] : names);

/** The last eighth is for small ones: a few senders of large bodies keep out others of their kind, never an alert. */
const smallBytes = 65_536;

export function makeByteBudget({ total, most, leaving = {}, together = {} }: ByteBudgetOptions): ByteBudget {
  const held = new Map<string, number>();
  const roomOfLarge = total - total / 8;
  let all = 0;

  const open = (holders: Holders): HeldBytes => {
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
      take: (bytes) => {
        const room = mine + bytes > smallBytes ? roomOfLarge : total;
        if (isOver || all + bytes > room || !shares.every((share) => hasRoom(share, bytes))) return false;
        for (const { place } of shares) held.set(place, (held.get(place) ?? 0) + bytes);
        all += bytes;
        mine += bytes;
        return true;
      },
      during: async (work) => {
        inUse++;
        try {
          return await work();
        } finally {
          inUse--;
          if (isOver && inUse === 0) giveBack();
        }
      },
      end: () => {
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
