import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import type { Config } from '../../../../kernel/config.ts';
import { readNodeId } from '../../../../kernel/data/node.ts';

/** Identifies this process; its pid may be reused. */
const processToken = randomUUID();

/** The name of a writer: node id, pid namespace, pid, process token, and a random id of its own. */
export const nameWriter = async (config: Config): Promise<string> =>
  [await readNodeId(config), pidNamespace(), process.pid, processToken, randomUUID()].join(' ');

/** Containers have pid namespaces of their own: a pid that is missing here may be alive in another one. */
function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return 'machine'; // no Linux, and no such namespaces
  }
}

/** Whether another writer is certainly dead: same node, same pid namespace, and its process no longer exists. */
export function isWriterDead(other: string, own: string): boolean {
  const [node, namespace, pid, otherToken] = other.split(' ');
  const [ownNode, ownNamespace, ownPid, ownToken] = own.split(' ');
  if (node !== ownNode || namespace !== ownNamespace) return false;
  if (pid === ownPid) return otherToken !== ownToken;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
