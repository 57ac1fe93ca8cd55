import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '../programs/process.ts';

/** A name for a directory under construction. It carries the pid of its process, to tell it from leftovers of a crash. */
export const draftName = (base: string): string => `${base}.making-${process.pid}`;

/** Removes half-made directories of starts that are gone. A start that is running right now keeps its own. */
export async function dropLeftovers(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const pid = Number(/\.making-(\d+)/.exec(name)?.[1]);
    // Our own pid: containers reuse the same pids, and this process has not created anything yet.
    if (!(pid > 0) || (pid !== process.pid && isAlive(pid))) continue;
    // An initdb that outlived its start may still be writing here; the next start removes the rest.
    await rm(join(dir, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }
}
