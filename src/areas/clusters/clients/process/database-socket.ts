import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asUser } from '../../../../kernel/programs/identity.ts';

/** In a shell of whoever owns the socket: whatever they have put in its place, no more than what is theirs is changed. */
const script = 'chgrp "$1" "$2" "$3" && chmod 0770 "$3" && chmod 0710 "$2"';

/** Lets the group of clusters' users come to the socket of our PostgreSQL, which is in a directory of its own user's: they pass through it and see
 *  nothing. Its password is asked for there as before. Safe to run again; a start of PostgreSQL closes it. */
export async function grantSocketAccess(socketDir: string, port: number, group: number): Promise<void> {
  const socket = join(socketDir, `.s.PGSQL.${port}`);
  const [dir, door] = await Promise.all([stat(socketDir), stat(socket)]);
  if (dir.gid === group && door.gid === group && (dir.mode & 0o777) === 0o710 && (door.mode & 0o777) === 0o770) return;
  if (dir.uid === 0)
    throw new Error(`PostgreSQL in ${socketDir} was started where no other user could reach it; stop Quarterdeck and start it again`);
  const opening = asUser({ uid: dir.uid, gid: group }).spawn('sh', ['-c', script, 'sh', String(group), socketDir, socket], {
    cwd: '/',
    stdio: 'ignore',
  });
  const [code] = await once(opening, 'close');
  if (code !== 0) throw new Error(`the socket of PostgreSQL in ${socketDir} could not be opened for clusters`);
}
