import { createHash } from 'node:crypto';

// Where the server is root, each cluster's programs run as a user of their own, who has no name: a number of a range that nobody else uses.

/** Numbers, both ends included. The first is the group of all of them: whoever is in it reaches our PostgreSQL's socket. */
export interface UserRange {
  first: number;
  last: number;
}

/** Taken if the operator names none. Neither distributions nor systemd nor containers give the first ones to anybody; the others are for a
 *  container that has so few. */
const defaultRanges: readonly UserRange[] = [
  { first: 1_900_000_000, last: 1_900_999_999 },
  { first: 20_000, last: 59_999 },
];

/** What the system says of its users, as the text of its files. */
export interface SystemFiles {
  /** `/etc/passwd` and `/etc/group`: the third field is a number that somebody has. */
  named: readonly string[];
  /** `/etc/subuid` and `/etc/subgid`: ranges that somebody may give away. */
  lent: readonly string[];
  /** `/proc/self/uid_map` and `gid_map`: the numbers that exist here. Empty: all of them. */
  maps: readonly string[];
}

const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

/** Numbers that have a name. */
export const namedIn = ({ named }: SystemFiles): Set<number> =>
  new Set(named.flatMap((text) => linesOf(text).map((line) => Number(line.split(':')[2]))));

const overlaps = (a: UserRange, b: UserRange) => a.first <= b.last && b.first <= a.last;

const rangeOf = (first: string | undefined, count: string | undefined): UserRange => ({
  first: Number(first),
  last: Number(first) + Number(count) - 1,
});

/** The operator's, or the first usual one that is there and that nobody has a number of; undefined: there is none. */
export function chooseRange(given: UserRange | undefined, files: SystemFiles): UserRange | undefined {
  if (given) return given;
  const lent = files.lent.flatMap((text) => linesOf(text).map((line) => rangeOf(line.split(':')[1], line.split(':')[2])));
  const named = [...namedIn(files)].map((id) => ({ first: id, last: id }));
  const maps = files.maps.map((text) => linesOf(text).map((line) => rangeOf(line.trim().split(/\s+/)[0], line.trim().split(/\s+/)[2])));
  const exists = (range: UserRange) =>
    maps.every((map) => map.length === 0 || map.some(({ first, last }) => first <= range.first && range.last <= last));
  return defaultRanges.find((range) => exists(range) && ![...lent, ...named].some((other) => overlaps(range, other)));
}

export const isIn = ({ first, last }: UserRange, id: number): boolean => id > first && id <= last;

/** The cluster's own, whoever asks: the same on every server and after a restore, unless somebody has it already. Undefined: all are taken. */
export function chooseUser(range: UserRange, cluster: string, taken: ReadonlySet<number>): number | undefined {
  const many = range.last - range.first;
  const at = createHash('sha256').update(cluster).digest().readUIntBE(0, 6) % many;
  for (let n = 0; n < many; n++) {
    const id = range.first + 1 + ((at + n) % many);
    if (!taken.has(id)) return id;
  }
  return undefined;
}
