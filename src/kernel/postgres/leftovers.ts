import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '../programs/process.ts';

/** A name for something under construction; who is making it is in the name, so that it can be told from what a crash left. */
export const makingName = (base: string): string => `${base}.making-${process.pid}`;

/** Takes away what starts that no longer live left half made. Another start that is at work right now keeps its own. */
export async function dropLeftovers(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const pid = Number(/\.making-(\d+)/.exec(name)?.[1]);
    // Our own pid: a container gives the same numbers again, and we have not begun to make anything yet.
    if (!(pid > 0) || (pid !== process.pid && isAlive(pid))) continue;
    // An initdb that outlived its start may still be writing here; what it adds behind us goes the next time.
    await rm(join(dir, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }
}
