import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, mkdtemp, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** sockaddr_un holds 104 bytes on macOS and 108 on Linux, the final zero included. */
const longest = 103;

export interface SocketPlace {
  /** Where the program's other files are: the socket stands there too if its path is short enough. */
  dir: string;
  /** Of the socket. */
  name: string;
  /** What the directory below the temporary one is called after: the same program finds it again. */
  of: string;
  owner: { uid: number; gid: number } | undefined;
}

/** Where it stands if nobody else was there first. */
export function socketDirOf({ dir, name, of }: Pick<SocketPlace, 'dir' | 'name' | 'of'>): string {
  const fits = (at: string) => Buffer.byteLength(join(at, name)) <= longest;
  if (fits(dir)) return dir;
  const base = fits(join(tmpdir(), 'quarterdeck-0123456789abcdef')) ? tmpdir() : '/tmp';
  return join(base, `quarterdeck-${createHash('sha256').update(of).digest('hex').slice(0, 16)}`);
}

/**
 * Beside the program's data when the path is short enough: nobody else can put anything there, and no cleaner of /tmp comes by.
 * Otherwise a directory of the owner's below the temporary one, which others may pass through if `mode` says so.
 */
export async function makeSocketDir(place: SocketPlace, mode = 0o700): Promise<string> {
  const wanted = socketDirOf(place);
  if (wanted === place.dir) return wanted;
  await mkdir(wanted, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (await give(wanted, place.owner, mode)) return wanted;
  // The name can be guessed, so another user may have been here first; theirs is never used.
  const other = await mkdtemp(join(dirname(wanted), 'quarterdeck-'));
  if (!(await give(other, place.owner, mode))) throw new Error(`${other} is another’s by now; it is tried again`);
  return other;
}

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** False: it is somebody else's. Looked at and given away by one handle: its owner may put a link in its place at any moment. */
async function give(dir: string, owner: SocketPlace['owner'], mode: number): Promise<boolean> {
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
