import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asUser } from '../../../kernel/programs/identity.ts';

/** Runs in a shell as the socket's owner, so that a replaced path can only affect the owner's own files. */
const script = 'chgrp "$1" "$2" "$3" && chmod 0770 "$3" && chmod 0710 "$2"';

/** Gives the group of clusters' users access to the socket of our PostgreSQL: they can traverse its directory but not list it. PostgreSQL still
 *  asks for a password. Safe to run again; a start of PostgreSQL resets the modes. */
export async function grantSocketAccess(socketDir: string, port: number, group: number): Promise<void> {
  const socket = join(socketDir, `.s.PGSQL.${port}`);
  const [dir, found] = await Promise.all([stat(socketDir), stat(socket)]);
  if (dir.gid === group && found.gid === group && (dir.mode & 0o777) === 0o710 && (found.mode & 0o777) === 0o770) return;
  if (dir.uid === 0)
    throw new Error(`PostgreSQL in ${socketDir} was started where no other user could reach it; stop Quarterdeck and start it again`);
  const opening = asUser({ uid: dir.uid, gid: group }).spawn('sh', ['-c', script, 'sh', String(group), socketDir, socket], {
    cwd: '/',
    stdio: 'ignore',
  });
  const [code] = await once(opening, 'close');
  if (code !== 0) throw new Error(`the socket of PostgreSQL in ${socketDir} could not be opened for clusters`);
}
