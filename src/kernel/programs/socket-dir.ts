import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

/**
 * Beside the program's data when the path is short enough: nobody else can put anything there, and no cleaner of /tmp comes by.
 * Otherwise a private directory below the temporary one.
 */
export async function makeSocketDir({ dir, name, of, owner }: SocketPlace): Promise<string> {
  const fits = (at: string) => Buffer.byteLength(join(at, name)) <= longest;
  if (fits(dir)) return dir;
  const base = fits(join(tmpdir(), 'quarterdeck-0123456789abcdef')) ? tmpdir() : '/tmp';
  const wanted = join(base, `quarterdeck-${createHash('sha256').update(of).digest('hex').slice(0, 16)}`);
  const uid = owner?.uid ?? process.getuid?.();
  try {
    await mkdir(wanted, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const found = await lstat(wanted);
    // The name can be guessed, so another user may have been here first; theirs is never used.
    const ours = found.isDirectory() && (found.uid === uid || found.uid === process.getuid?.());
    if (!ours) return give(await mkdtemp(join(base, 'quarterdeck-')), owner);
  }
  return give(wanted, owner);
}

async function give(dir: string, owner: { uid: number; gid: number } | undefined): Promise<string> {
  await chmod(dir, 0o700);
  if (owner) await chown(dir, owner.uid, owner.gid);
  return dir;
}
