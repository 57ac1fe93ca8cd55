import { randomUUID } from 'node:crypto';
import { lchown, link, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Identifies a data directory wherever it is moved: etcd's files are in it, so only its server can serve their clusters. */
export async function readDirectoryId(dataDir: string): Promise<string> {
  const path = join(dataDir, 'directory-id');
  const found = await readIfThere(path);
  if (found !== undefined) return found;
  const making = `${path}.making-${process.pid}`;
  await rm(making, { force: true });
  await writeFile(making, randomUUID(), { mode: 0o600, flag: 'wx' });
  // The owner of the data directory may start the server without root next time.
  const { uid, gid } = await stat(dataDir);
  if (process.getuid?.() === 0) await lchown(making, uid, gid);
  // Of two servers that start at once, the first one's stays.
  await link(making, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(making, { force: true });
  return (await readIfThere(path)) ?? readDirectoryId(dataDir);
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function readIfThere(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  if (!uuid.test(text.trim()))
    throw new Error(`${path} holds no id of a data directory; remove it, and the clusters with an etcd here are restored from backups`);
  return text.trim();
}
