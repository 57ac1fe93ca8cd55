import { chmod, lchown, lstat, mkdir, open, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Identity, Owner } from '../../../kernel/programs/identity.ts';
import { removeTree } from '../../../kernel/programs/remove-tree.ts';
import { makeSocketDir, socketDirOf } from '../../../kernel/programs/socket-dir.ts';
import { hashOf } from '../rules/files.ts';
import type { UserRange } from '../rules/users.ts';
import { stopAll } from './programs.ts';
import { findIdentity, findOwner, forgetUser, workDirOf } from './users.ts';

/** Where the programs of clusters have their files. */
export const runDir = (dataDir: string): string => join(dataDir, 'clusters', 'run');

export interface ClusterDirectory {
  /** The real path, for comparison with /proc. Owned by the server; the programs' user can only traverse it. */
  dir: string;
  /** The programs' working directory, where kine creates its socket. Equal to `dir` where programs run as the server's user. */
  workDir: string;
  identity: Identity;
  /** The programs' user, if it is not the server's. */
  separateUser: Owner | undefined;
  /** Of a generation of its store. */
  kineSocket: (generation: number) => string;
  egressSocket: string;
}

/** Creates the directory of a cluster, and the working directory in it that belongs to the programs' user. */
export async function prepareDirectory(dataDir: string, cluster: string, range?: UserRange): Promise<ClusterDirectory> {
  const base = await makeBase(dataDir);
  const dir = join(base, cluster);
  await refuseForeignOwner(dir);
  const identity = await findIdentity({ base, dir, cluster, range });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  if ((await lstat(dir)).isSymbolicLink()) throw new Error(`${dir} is a link`);
  const other = identity.owner?.uid === process.getuid?.() ? undefined : identity.owner;
  const work = other ? await makeWorkDir(dir, other) : dir;
  const kineAt = await makeSocketDir({ ...kineSocketDir(dir), dir: work, owner: identity.owner });
  const egressAt = await makeSocketDir(egressSocketDir(dir), 0o711);
  return {
    dir,
    workDir: work,
    identity,
    separateUser: other,
    kineSocket: (generation) => join(kineAt, generation === 1 ? 'kine.sock' : `k${generation}.sock`),
    egressSocket: join(egressAt, 'egress.sock'),
  };
}

const kineSocketDir = (dir: string) => ({ dir, name: 'egress.sock', of: dir, owner: undefined });
const egressSocketDir = (dir: string) => ({ dir, name: 'egress.sock', of: `${dir} egress`, owner: undefined });

/** The directory of all clusters. Root gives it to the owner of the data directory, who may start the server without root next time. */
async function makeBase(dataDir: string): Promise<string> {
  const { uid, gid } = await stat(dataDir);
  for (const dir of [join(dataDir, 'clusters'), runDir(dataDir)]) {
    // 0711: programs that are not root can traverse it to their own directory, but not list it.
    if (await mkdir(dir, { recursive: true, mode: 0o711 })) await chmod(dir, 0o711);
    if (process.getuid?.() === 0 && uid !== 0 && (await lstat(dir)).uid === 0) await lchown(dir, uid, gid);
  }
  return realpath(runDir(dataDir));
}

/** A killed server that was root leaves root's directory. An ordinary user who starts next gets this explanation, not "permission denied". */
async function refuseForeignOwner(dir: string): Promise<void> {
  const [uid, found] = [process.getuid?.(), await lstat(dir).catch(() => undefined)];
  if (uid === undefined || uid === 0 || !found || found.uid === uid) return;
  throw new Error(
    `${dir} belongs to the user with id ${found.uid}, not to you (${uid}): a server that ran as root was killed; start Quarterdeck as root and stop it, or chown the directory and all in it to yourself`,
  );
}

/** Earlier releases gave the whole directory to the programs' user. Ownership is taken first, so that user cannot change paths concurrently. */
async function takeOwnership(dir: string): Promise<void> {
  await lchown(dir, process.getuid!(), process.getgid!());
  await chmod(dir, 0o711);
}

async function makeWorkDir(dir: string, owner: Owner): Promise<string> {
  const before = (await findOwner(dir)) ?? (await lstat(dir)).uid;
  await takeOwnership(dir);
  const work = workDirOf(dir);
  if (before !== owner.uid && before !== 0) await removePreviousUser(dir);
  if (!(await lstat(work).catch(() => undefined))?.isDirectory()) await rm(work, { force: true });
  await mkdir(work, { recursive: true, mode: 0o700 });
  await lchown(work, owner.uid, owner.gid);
  return work;
}

/** Stops programs of the previous user (earlier releases had one for all clusters) before their files change owner. `work` is removed last: while
 *  it exists, this step is not finished. */
async function removePreviousUser(dir: string): Promise<void> {
  await stopAll(dir);
  const sockets = socketDirOf({ ...kineSocketDir(dir), dir: workDirOf(dir) });
  if (sockets !== workDirOf(dir)) await removeTree(sockets);
  await removeTree(workDirOf(dir));
}

/** Writes the files into a directory named by their hash, renamed into place when complete. The server owns the directory: the programs' user can
 *  read the files and add none. */
export async function writeKeyFiles(
  { dir, separateUser }: Pick<ClusterDirectory, 'dir' | 'separateUser'>,
  files: Record<string, string>,
): Promise<string> {
  const wanted = join(dir, `keys-${hashOf(separateUser ? [files, separateUser.uid] : files)}`);
  if (await lstat(wanted).catch(() => undefined)) return wanted;
  const making = `${wanted}.making`;
  await removeTree(making);
  await mkdir(making, { mode: 0o700 });
  for (const [name, text] of Object.entries(files)) {
    const file = await open(join(making, name), 'wx', 0o600);
    try {
      await file.writeFile(text);
      if (separateUser) await file.chown(separateUser.uid, separateUser.gid);
    } finally {
      await file.close();
    }
  }
  if (separateUser) await chmod(making, 0o711);
  await rename(making, wanted);
  return wanted;
}

/** Removes key files that no program reads any more. */
export async function removeOtherKeyFiles({ dir }: Pick<ClusterDirectory, 'dir'>, keysDir: string | undefined): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    const path = join(dir, name);
    if (name.startsWith('keys-') && path !== keysDir) await removeTree(path);
  }
}

/** Removes all files of a cluster whose programs have stopped. */
export async function removeDirectory(dataDir: string, cluster: string): Promise<void> {
  const base = await realpath(runDir(dataDir)).catch(() => undefined);
  if (base === undefined) return;
  const dir = join(base, cluster);
  await refuseForeignOwner(dir);
  // A socket path that is too long for `work` is below the temporary directory, in a directory named after `dir`.
  for (const at of [socketDirOf({ ...kineSocketDir(dir), dir: workDirOf(dir) }), socketDirOf(egressSocketDir(dir))])
    if (dirname(at) !== dir && at !== dir) await removeTree(at).catch(() => {}); // it belongs to another user, who created it first
  if (!(await lstat(dir).catch(() => undefined))) return forgetUser(dir);
  if (process.getuid?.() === 0) await takeOwnership(dir);
  for (const name of await readdir(dir)) await removeTree(join(dir, name));
  await rmdir(dir);
  forgetUser(dir);
}

/** For root over the data of an ordinary user: once no program runs, the directory and its logs go to that user, who may start without root. */
export async function returnToDataOwner(dir: string): Promise<void> {
  const { uid, gid } = await stat(dirname(dir));
  if (process.getuid?.() !== 0 || uid === 0) return;
  for (const name of await readdir(dir)) {
    const isLog = /\.log(\.1)?$/.test(name);
    await (isLog ? lchown(join(dir, name), uid, gid) : removeTree(join(dir, name)));
  }
  await chmod(dir, 0o700);
  await lchown(dir, uid, gid);
}

/** Ids of clusters that have a directory here. */
export const listDirectories = (dataDir: string): Promise<string[]> => readdir(runDir(dataDir)).catch(() => []);
