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

/** Says in a cursor who shared when it was given: another set of members, and the whole share is told anew. */
export const membersHash = (instances: readonly string[]): string => hash('sha256', [...instances].sort().join(), 'hex').slice(0, 16);

export interface Cursor {
  revision: number;
  members: string;
}

export const writeCursor = ({ revision, members }: Cursor): string => `${revision}.${members}`;

/** Undefined for none, or for what we never gave: then everything is told. */
export function readCursor(text: string | undefined): Cursor | undefined {
  const m = /^(\d{1,15})\.([0-9a-f]{16})$/.exec(text ?? '');
  return m ? { revision: Number(m[1]), members: m[2]! } : undefined;
}
