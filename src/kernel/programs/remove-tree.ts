import { once } from 'node:events';
import { lstat, rm, rmdir } from 'node:fs/promises';
import { asUser } from './identity.ts';

/** Removes whatever stands there. As root, a directory of another user's is emptied by that user: while we walk through it, they could put links in
 *  our way. What they keep from going stays, for whoever comes by next. */
export async function removeTree(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return;
  const isAnothers = process.getuid?.() === 0 && found.uid !== 0;
  if (!found.isDirectory() || !isAnothers) return rm(path, { recursive: true, force: true });
  const emptying = asUser(found).spawn('rm', ['-rf', '--', path], { cwd: '/', stdio: 'ignore' });
  await Promise.race([once(emptying, 'close'), once(emptying, 'error')]);
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY') throw error;
  });
}
