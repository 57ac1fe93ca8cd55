import { chmod, lchown, lstat, mkdir, open, readdir, realpath, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseIdentity, type Identity } from '../../../../kernel/programs/identity.ts';
import { removeTree } from '../../../../kernel/programs/remove-tree.ts';
import { makeSocketDir, socketDirOf } from '../../../../kernel/programs/socket-dir.ts';
import { hashOf } from '../../rules/process/files.ts';

/** Where the programs of clusters have their files. */
export const runDir = (dataDir: string): string => join(dataDir, 'clusters', 'run');

export interface ClusterPlace {
  /** The real path: /proc names real paths, and so must we. Ours alone: whom the programs run as only passes through. */
  dir: string;
  /** Theirs, where they work and kine makes its socket. The same as `dir` where they run as we do. */
  work: string;
  identity: Identity;
  kineSocket: string;
  egressSocket: string;
}

/** Not the directory itself where it is theirs: what stands in there is read as another's. */
export const workIn = (dir: string): string => join(dir, 'work');

const findIdentity = async (base: string, dir: string): Promise<Identity> => {
  const isSettled = (await lstat(workIn(dir)).catch(() => undefined))?.isDirectory() ?? false;
  return chooseIdentity({ name: 'a cluster’s control plane', dataDir: base, dir: base, data: isSettled ? workIn(dir) : dir });
};

/** Whom the programs run as, if that is another user than we are. */
const otherOf = ({ owner }: Identity) => (owner?.uid === process.getuid?.() ? undefined : owner);

/** Makes the directory of a cluster, and the one in it that belongs to whom its programs run as. */
export async function settleCluster(dataDir: string, cluster: string): Promise<ClusterPlace> {
  // 0711: nobody lists them, but programs that are not root walk through to what is theirs.
  for (const dir of [join(dataDir, 'clusters'), runDir(dataDir)])
    if (await mkdir(dir, { recursive: true, mode: 0o711 })) await chmod(dir, 0o711);
  const base = await realpath(runDir(dataDir));
  const dir = join(base, cluster);
  const identity = await findIdentity(base, dir);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  if ((await lstat(dir)).isSymbolicLink()) throw new Error(`${dir} is a link`);
  const other = otherOf(identity);
  const work = other ? await makeWork(dir, other) : dir;
  const kineAt = await makeSocketDir({ dir: work, name: 'egress.sock', of: dir, owner: identity.owner });
  const egressAt = await makeSocketDir(egressPlace(dir), 0o711);
  return { dir, work, identity, kineSocket: join(kineAt, 'kine.sock'), egressSocket: join(egressAt, 'egress.sock') };
}

const egressPlace = (dir: string) => ({ dir, name: 'egress.sock', of: `${dir} egress`, owner: undefined });

/** Releases before this one gave the whole directory away: it is ours before we do anything in it, so that nothing is changed under our hands. */
async function takeBack(dir: string): Promise<void> {
  await lchown(dir, process.getuid!(), process.getgid!());
  await chmod(dir, 0o711);
}

async function makeWork(dir: string, owner: { uid: number; gid: number }): Promise<string> {
  await takeBack(dir);
  const work = workIn(dir);
  if (!(await lstat(work).catch(() => undefined))?.isDirectory()) await rm(work, { force: true });
  await mkdir(work, { recursive: true, mode: 0o700 });
  await lchown(work, owner.uid, owner.gid);
  return work;
}

/** Writes the files into a directory that is named after what is in them: one that has its name is whole. The directory is ours: whom the
 *  programs run as reads its files and puts none there. */
export async function writeFiles({ dir, identity }: ClusterPlace, files: Record<string, string>): Promise<string> {
  const wanted = join(dir, `keys-${hashOf(files)}`);
  if (await lstat(wanted).catch(() => undefined)) return wanted;
  const making = `${wanted}.making`;
  await removeTree(identity, making);
  await mkdir(making, { mode: 0o700 });
  const other = otherOf(identity);
  for (const [name, text] of Object.entries(files)) {
    const file = await open(join(making, name), 'wx', 0o600);
    try {
      await file.writeFile(text);
      if (other) await file.chown(other.uid, other.gid);
    } finally {
      await file.close();
    }
  }
  if (other) await chmod(making, 0o711);
  await rename(making, wanted);
  return wanted;
}

/** Files that no program reads any more go: nothing of an old key stays behind. */
export async function dropOtherFiles({ dir, identity }: ClusterPlace, keysDir: string | undefined): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    const path = join(dir, name);
    if (name.startsWith('keys-') && path !== keysDir) await removeTree(identity, path);
  }
}

/** Everything of a cluster whose programs have ended. */
export async function removePlace(dataDir: string, cluster: string): Promise<void> {
  const base = await realpath(runDir(dataDir)).catch(() => undefined);
  if (base === undefined) return;
  const dir = join(base, cluster);
  const identity = await findIdentity(base, dir);
  for (const at of [socketDirOf({ ...egressPlace(dir), of: dir }), socketDirOf(egressPlace(dir))])
    if (at !== dir) await removeTree(identity, at);
  if (!(await lstat(dir).catch(() => undefined))) return;
  if (otherOf(identity)) await takeBack(dir);
  for (const name of await readdir(dir)) await removeTree(identity, join(dir, name));
  await rmdir(dir);
}

/** Clusters that have a directory here. */
export const placesIn = (dataDir: string): Promise<string[]> => readdir(runDir(dataDir)).catch(() => []);
