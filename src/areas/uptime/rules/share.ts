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

/** Says in a cursor who shared when it was given: another set of members, and the whole share is told anew. */
export const membersHash = (instances: readonly string[]): string => shortHash([...instances].sort().join());

export interface Cursor {
  /** What changed after it is yet to be told. */
  revision: number;
  members: string;
  /** Says what of that could be told already: whoever comes with the same one would hear nothing new. */
  withheldHash?: string;
}

/** A monitor that cannot be handed out, and the change that made it so. */
export interface WithheldMonitor {
  id: string;
  revision: number;
}

/** Stays before the first of those that could not be handed out, so that they are told as soon as they can be. */
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

/** Undefined for none, or for what we never gave: then everything is told. */
export function readCursor(text: string | undefined): Cursor | undefined {
  const m = /^(\d{1,15})\.([0-9a-f]{16})(?:\.([0-9a-f]{16}))?$/.exec(text ?? '');
  return m ? { revision: Number(m[1]), members: m[2]!, ...(m[3] ? { withheldHash: m[3] } : {}) } : undefined;
}
