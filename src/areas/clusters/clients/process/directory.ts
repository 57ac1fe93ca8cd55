import { chmod, lchown, lstat, mkdir, open, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Identity, Owner } from '../../../../kernel/programs/identity.ts';
import { removeTree } from '../../../../kernel/programs/remove-tree.ts';
import { makeSocketDir, socketDirOf } from '../../../../kernel/programs/socket-dir.ts';
import { hashOf } from '../../rules/process/files.ts';
import type { UserRange } from '../../rules/process/users.ts';
import { stopAll } from './programs.ts';
import { findIdentity, findOwner, forgetUser, workDirOf } from './users.ts';

/** Where the programs of clusters have their files. */
export const runDir = (dataDir: string): string => join(dataDir, 'clusters', 'run');

export interface ClusterDirectory {
  /** The real path: /proc names real paths, and so must we. Ours alone: whom the programs run as only passes through. */
  dir: string;
  /** Theirs, where they work and kine makes its socket. The same as `dir` where they run as we do. */
  workDir: string;
  identity: Identity;
  /** Whom the programs run as, if that is another user than we are. */
  separateUser: Owner | undefined;
  kineSocket: string;
  egressSocket: string;
}

/** Makes the directory of a cluster, and the one in it that belongs to whom its programs run as. */
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
    kineSocket: join(kineAt, 'kine.sock'),
    egressSocket: join(egressAt, 'egress.sock'),
  };
}

const kineSocketDir = (dir: string) => ({ dir, name: 'egress.sock', of: dir, owner: undefined });
const egressSocketDir = (dir: string) => ({ dir, name: 'egress.sock', of: `${dir} egress`, owner: undefined });

/** Of all clusters. Root makes it for whoever owns the data directory: an ordinary user starts alone next time. */
async function makeBase(dataDir: string): Promise<string> {
  const { uid, gid } = await stat(dataDir);
  for (const dir of [join(dataDir, 'clusters'), runDir(dataDir)]) {
    // 0711: nobody lists them, but programs that are not root walk through to what is theirs.
    if (await mkdir(dir, { recursive: true, mode: 0o711 })) await chmod(dir, 0o711);
    if (process.getuid?.() === 0 && uid !== 0 && (await lstat(dir)).uid === 0) await lchown(dir, uid, gid);
  }
  return realpath(runDir(dataDir));
}

/** A server that was root and was killed leaves a directory of root's: an ordinary user who comes next should hear that, not "permission denied". */
async function refuseForeignOwner(dir: string): Promise<void> {
  const [uid, found] = [process.getuid?.(), await lstat(dir).catch(() => undefined)];
  if (uid === undefined || uid === 0 || !found || found.uid === uid) return;
  throw new Error(
    `${dir} belongs to the user with id ${found.uid}, not to you (${uid}): a server that ran as root was killed; start Quarterdeck as root and stop it, or chown the directory and all in it to yourself`,
  );
}

/** Releases before gave the whole directory away: it is ours before we do anything in it, so that nothing is changed under our hands. */
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

/** Programs of another user, all clusters' of releases before, end before what is theirs becomes the cluster's own user's. `work` goes last: as
 *  long as it is there, this is not finished. */
async function removePreviousUser(dir: string): Promise<void> {
  await stopAll(dir);
  const sockets = socketDirOf({ ...kineSocketDir(dir), dir: workDirOf(dir) });
  if (sockets !== workDirOf(dir)) await removeTree(sockets);
  await removeTree(workDirOf(dir));
}

/** Writes the files into a directory that is named after what is in them: one that has its name is whole. The directory is ours: whom the
 *  programs run as reads its files and puts none there. */
export async function writeKeyFiles(
  { dir, separateUser }: Pick<ClusterDirectory, 'dir' | 'other'>,
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

/** Files that no program reads any more go: nothing of an old key stays behind. */
export async function removeOtherKeyFiles({ dir }: Pick<ClusterDirectory, 'dir'>, keysDir: string | undefined): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    const path = join(dir, name);
    if (name.startsWith('keys-') && path !== keysDir) await removeTree(path);
  }
}

/** Everything of a cluster whose programs have ended. */
export async function removeDirectory(dataDir: string, cluster: string): Promise<void> {
  const base = await realpath(runDir(dataDir)).catch(() => undefined);
  if (base === undefined) return;
  const dir = join(base, cluster);
  await refuseForeignOwner(dir);
  // Below `work` a path is longest: whether it fits there or not, what stands below the temporary directory is named after `dir`.
  for (const at of [socketDirOf({ ...kineSocketDir(dir), dir: workDirOf(dir) }), socketDirOf(egressSocketDir(dir))])
    if (dirname(at) !== dir && at !== dir) await removeTree(at).catch(() => {}); // another's, who was there first
  if (!(await lstat(dir).catch(() => undefined))) return forgetUser(dir);
  if (process.getuid?.() === 0) await takeOwnership(dir);
  for (const name of await readdir(dir)) await removeTree(join(dir, name));
  await rmdir(dir);
  forgetUser(dir);
}

/** Root over the data of an ordinary user, who starts alone next time: once nothing runs, the directory is that user's, and the logs in it. */
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

/** Clusters that have a directory here. */
export const listDirectories = (dataDir: string): Promise<string[]> => readdir(runDir(dataDir)).catch(() => []);
