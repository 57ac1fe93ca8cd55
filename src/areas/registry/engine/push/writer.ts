import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import type { Config } from '../../../../kernel/config.ts';
import { readNodeId } from '../../../../kernel/data/node.ts';

/** Of this process: another one may get its number. */
const word = randomUUID();

/** A writer, by the data directory that it has, where its process's number counts, that number, the process's own word, and one of its own. */
export const nameWriter = async (config: Config): Promise<string> =>
  [await readNodeId(config), numberSpace(), process.pid, word, randomUUID()].join(' ');

/** Processes in containers have numbers of their own: one that is missing here may be alive elsewhere. */
function numberSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return 'machine'; // no Linux, and no such spaces
  }
}

/** Whether another writer certainly lives no more: it was of this directory, its number counted here, and no process but perhaps ours has that now. */
export function isGone(other: string, own: string): boolean {
  const [node, space, pid, theirs] = other.split(' ');
  const [ownNode, ownSpace, ownPid, ours] = own.split(' ');
  if (node !== ownNode || space !== ownSpace) return false;
  if (pid === ownPid) return theirs !== ours;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
