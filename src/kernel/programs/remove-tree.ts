import { once } from 'node:events';
import { lstat, rm, rmdir } from 'node:fs/promises';
import type { Identity } from './identity.ts';

/** Removes whatever stands there. A directory of another user's is emptied by that user: while we walk through it as root, they could put links in
 *  our way. What they keep from going stays, for whoever comes by next. */
export async function removeTree(identity: Identity, path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return;
  if (!found.isDirectory() || !identity.owner || found.uid !== identity.owner.uid || found.uid === process.getuid?.())
    return rm(path, { recursive: true, force: true });
  const emptying = identity.spawn('rm', ['-rf', '--', path], { cwd: '/', stdio: 'ignore' });
  await Promise.race([once(emptying, 'close'), once(emptying, 'error')]);
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY') throw error;
  });
}
