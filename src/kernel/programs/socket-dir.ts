import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, mkdtemp, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** sockaddr_un holds 104 bytes on macOS and 108 on Linux, the final zero included. */
const maxPathBytes = 103;

export interface SocketOptions {
  /** The directory of the program's other files: the socket goes there too if its path is short enough. */
  dir: string;
  /** The name of the socket. */
  name: string;
  /** Determines the name of the directory below the temporary one: the same program finds it again. */
  of: string;
  owner: { uid: number; gid: number } | undefined;
}

/** The directory, unless another user has taken its name. */
export function socketDirOf({ dir, name, of }: Pick<SocketOptions, 'dir' | 'name' | 'of'>): string {
  const fits = (at: string) => Buffer.byteLength(join(at, name)) <= maxPathBytes;
  if (fits(dir)) return dir;
  const base = fits(join(tmpdir(), 'quarterdeck-0123456789abcdef')) ? tmpdir() : '/tmp';
  return join(base, `quarterdeck-${createHash('sha256').update(of).digest('hex').slice(0, 16)}`);
}

/**
 * Beside the program's data when the path is short enough: no other user can write there, and no cleaner of /tmp removes it. Otherwise a
 * directory of the owner below the temporary one, which others may pass through if `mode` allows it.
 */
export async function makeSocketDir(place: SocketOptions, mode = 0o700): Promise<string> {
  const wanted = socketDirOf(place);
  if (wanted === place.dir) return wanted;
  await mkdir(wanted, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (await chownIfOurs(wanted, place.owner, mode)) return wanted;
  // The name can be guessed, so another user may have created it first; such a directory is never used.
  const other = await mkdtemp(join(dirname(wanted), 'quarterdeck-'));
  if (!(await chownIfOurs(other, place.owner, mode))) throw new Error(`${other} is another’s by now; it is tried again`);
  return other;
}

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** False: it belongs to another user. Checked and given away through one handle: its owner may replace it by a link at any moment. */
async function chownIfOurs(dir: string, owner: SocketOptions['owner'], mode: number): Promise<boolean> {
  const handle = await open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
    if (['ENOTDIR', 'ELOOP', 'EACCES'].includes(error.code ?? '')) return undefined;
    throw error;
  });
  try {
    const uid = (await handle?.stat())?.uid;
    if (!handle || (uid !== process.getuid?.() && uid !== owner?.uid)) return false;
    await handle.chmod(mode);
    if (owner) await handle.chown(owner.uid, owner.gid);
    return true;
  } finally {
    await handle?.close();
  }
}
