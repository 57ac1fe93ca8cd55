import { createHash, randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, rm, rmdir } from 'node:fs/promises';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { App } from '../../../../../kernel/app.ts';
import { lockProberDirectories } from '../../../engine/sessions.ts';

export interface ProberDirectory {
  /** Holds undelivered results. It survives server and prober, and the next prober in this directory delivers them. */
  bufferDir: string;
  socketPath: string;
}

/** sockaddr_un holds 104 bytes on macOS and 108 on Linux, the final zero included. */
const maxSocketPathBytes = 103;

/**
 * The first prober directory that no other server of this data directory uses. A server listens on the socket in its directory, so a socket
 * that accepts connections is in use. One server searches at a time: two that find the same dead socket would both claim it.
 */
export const claimProberDirectory = (app: App, server: Server): Promise<ProberDirectory> =>
  app.db.write(async (tx) => {
    await lockProberDirectories(tx);
    for (let n = 0; ; n++) {
      const bufferDir = join(app.config.data, 'uptime', `prober-${n}`);
      await ownDirectory(bufferDir);
      const socketPath = join(await socketDirectory(bufferDir), 's');
      if (await answers(socketPath)) continue;
      await rm(socketPath, { force: true });
      await listen(server, socketPath);
      return { bufferDir, socketPath };
    }
  });

/** Removes a socket directory below the temporary one; the buffer directory and its content stay. */
export const releaseProberDirectory = async ({ bufferDir, socketPath }: ProberDirectory): Promise<void> => {
  if (dirname(socketPath) !== bufferDir) await rmdir(dirname(socketPath)).catch(() => {});
};

async function ownDirectory(path: string) {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}

/** The buffer directory itself, or a directory of our own below the temporary one where its path is too long for a socket. */
async function socketDirectory(bufferDir: string): Promise<string> {
  if (Buffer.byteLength(join(bufferDir, 's')) <= maxSocketPathBytes) return bufferDir;
  const name = `quarterdeck-${createHash('sha256').update(bufferDir).digest('hex').slice(0, 16)}`;
  const base = Buffer.byteLength(join(tmpdir(), name, 's')) <= maxSocketPathBytes ? tmpdir() : '/tmp';
  const wanted = join(base, name);
  await mkdir(wanted, { mode: 0o700 }).catch((error) => (error.code === 'EEXIST' ? undefined : Promise.reject(error)));
  const found = await lstat(wanted);
  // The name can be guessed, so another user may have been here first; theirs is never used.
  if (found.isDirectory() && found.uid === process.getuid?.()) {
    await chmod(wanted, 0o700);
    return wanted;
  }
  const ours = join(base, `quarterdeck-${randomUUID().slice(0, 13)}`);
  await mkdir(ours, { mode: 0o700 });
  return ours;
}

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });

const listen = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
