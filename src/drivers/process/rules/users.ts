import { createHash } from 'node:crypto';

// Where the server is root, each cluster's programs run as their own unnamed user: a uid from a range that is otherwise unused.

/** Uids, both ends included. The first number is the common group, whose members can reach our PostgreSQL's socket. */
export interface UserRange {
  first: number;
  last: number;
}

/** Used if the operator configures none. Distributions, systemd and containers do not assign the first range; the second is for containers with
 *  few uids. */
const defaultRanges: readonly UserRange[] = [
  { first: 1_900_000_000, last: 1_900_999_999 },
  { first: 20_000, last: 59_999 },
];

/** The texts of the system's files about users. */
export interface SystemFiles {
  /** `/etc/passwd` and `/etc/group`: the third field is a used number. */
  named: readonly string[];
  /** `/etc/subuid` and `/etc/subgid`: subordinate ranges of other users. */
  subordinate: readonly string[];
  /** `/proc/self/uid_map` and `gid_map`: the numbers that exist in this namespace. Empty: all. */
  maps: readonly string[];
}

const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

/** Uids and gids with a name. */
export const namedIn = ({ named }: SystemFiles): Set<number> =>
  new Set(named.flatMap((text) => linesOf(text).map((line) => Number(line.split(':')[2]))));

const overlaps = (a: UserRange, b: UserRange) => a.first <= b.last && b.first <= a.last;

const rangeOf = (first: string | undefined, count: string | undefined): UserRange => ({
  first: Number(first),
  last: Number(first) + Number(count) - 1,
});

/** The operator's range, or the first default range that exists here and has no used number; undefined: none. */
export function chooseRange(given: UserRange | undefined, files: SystemFiles): UserRange | undefined {
  if (given) return given;
  const lent = files.subordinate.flatMap((text) => linesOf(text).map((line) => rangeOf(line.split(':')[1], line.split(':')[2])));
  const named = [...namedIn(files)].map((id) => ({ first: id, last: id }));
  const maps = files.maps.map((text) => linesOf(text).map((line) => rangeOf(line.trim().split(/\s+/)[0], line.trim().split(/\s+/)[2])));
  const exists = (range: UserRange) =>
    maps.every((map) => map.length === 0 || map.some(({ first, last }) => first <= range.first && range.last <= last));
  return defaultRanges.find((range) => exists(range) && ![...lent, ...named].some((other) => overlaps(range, other)));
}

export const isInRange = ({ first, last }: UserRange, id: number): boolean => id > first && id <= last;

/** Derived from the cluster's id, so it is the same on every server and after a restore; the next free one if it is taken. Undefined: none is free. */
export function chooseUser(range: UserRange, cluster: string, taken: ReadonlySet<number>): number | undefined {
  const count = range.last - range.first;
  const at = createHash('sha256').update(cluster).digest().readUIntBE(0, 6) % count;
  for (let n = 0; n < count; n++) {
    const id = range.first + 1 + ((at + n) % count);
    if (!taken.has(id)) return id;
  }
  return undefined;
}
