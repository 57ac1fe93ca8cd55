import { hash } from 'node:crypto';

// Several probers of one vantage share its monitors without asking each other: each monitor belongs to the one that scores highest
// for it (rendezvous hashing), so one that comes or goes moves only its own share.

/** FNV-1a over both names, finished as MurmurHash3 does: FNV alone barely mixes the last characters. */
function score(monitor: string, instance: string): number {
  let h = 0x811c9dc5;
  const text = `${instance} ${monitor}`;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

export function ownerOf(monitor: string, instances: readonly string[]): string | undefined {
  let best: string | undefined;
  let highest = -1;
  for (const instance of instances) {
    const its = score(monitor, instance);
    if (its > highest || (its === highest && best !== undefined && instance < best)) {
      best = instance;
      highest = its;
    }
  }
  return best;
}

const shortHash = (text: string): string => hash('sha256', text, 'hex').slice(0, 16);

/** Names in a cursor the members that shared the vantage. When the members change, the whole share is sent again. */
export const membersHash = (instances: readonly string[]): string => shortHash([...instances].sort().join());

export interface Cursor {
  /** Changes after this revision are still to be sent. */
  revision: number;
  members: string;
  /** Identifies the changes that were withheld: a poll with the same hash has no news. */
  withheldHash?: string;
}

/** A monitor that cannot be assigned because its target cannot be unsealed, and the revision of its last change. */
export interface WithheldMonitor {
  id: string;
  revision: number;
}

/** The cursor stays before the first withheld monitor, so that it is sent as soon as its target can be unsealed. */
export const cursorBefore = (held: readonly WithheldMonitor[], revision: number, members: string): Cursor =>
  held.length
    ? {
        revision: held.reduce((least, { revision: its }) => Math.min(least, its - 1), revision),
        members,
        withheldHash: shortHash([revision, ...held.map(({ id }) => id).sort()].join()),
      }
    : { revision, members };

export const writeCursor = ({ revision, members, withheldHash }: Cursor): string =>
  [revision, members, ...(withheldHash === undefined ? [] : [withheldHash])].join('.');

/** Undefined for no cursor, or for one that this server never issued: then everything is sent. */
export function readCursor(text: string | undefined): Cursor | undefined {
  const m = /^(\d{1,15})\.([0-9a-f]{16})(?:\.([0-9a-f]{16}))?$/.exec(text ?? '');
  return m ? { revision: Number(m[1]), members: m[2]!, ...(m[3] ? { withheldHash: m[3] } : {}) } : undefined;
}
