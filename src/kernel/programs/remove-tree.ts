import { once } from 'node:events';
import { lstat, rm, rmdir } from 'node:fs/promises';
import { asUser } from './identity.ts';

/**
 * Removes a path. As root, a directory of another user is emptied under that user's id: during our walk that user could put links in the
 * way. Entries that cannot be removed stay for the next call.
 */
export async function removeTree(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return;
  const isOtherUsers = process.getuid?.() === 0 && found.uid !== 0;
  if (!found.isDirectory() || !isOtherUsers) return rm(path, { recursive: true, force: true });
  const emptying = asUser(found).spawn('rm', ['-rf', '--', path], { cwd: '/', stdio: 'ignore' });
  await Promise.race([once(emptying, 'close'), once(emptying, 'error')]);
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY') throw error;
  });
}
