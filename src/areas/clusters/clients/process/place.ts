import { chmod, chown, lstat, mkdir, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseIdentity, type Identity } from '../../../../kernel/programs/identity.ts';
import { makeSocketDir } from '../../../../kernel/programs/socket-dir.ts';
import { hashOf } from '../../rules/process/files.ts';

/** Where the programs of clusters have their files. */
export const runDir = (dataDir: string): string => join(dataDir, 'clusters', 'run');

export interface ClusterPlace {
  /** The real path: /proc names real paths, and so must we. */
  dir: string;
  identity: Identity;
  kineSocket: string;
  egressSocket: string;
}

/** Makes the directory of a cluster, owned by whom its programs run as. */
export async function settleCluster(dataDir: string, cluster: string): Promise<ClusterPlace> {
  // 0711: nobody lists them, but programs that are not root walk through to what is theirs.
  for (const dir of [join(dataDir, 'clusters'), runDir(dataDir)])
    if (await mkdir(dir, { recursive: true, mode: 0o711 })) await chmod(dir, 0o711);
  const base = await realpath(runDir(dataDir));
  const dir = join(base, cluster);
  const identity = await chooseIdentity({ name: 'a cluster’s control plane', dataDir: base, dir: base, data: dir });
  const { owner } = identity;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  if ((await lstat(dir)).isSymbolicLink()) throw new Error(`${dir} is a link`);
  if (owner) await chown(dir, owner.uid, owner.gid);
  const sockets = await makeSocketDir({ dir, name: 'egress.sock', of: dir, owner });
  return { dir, identity, kineSocket: join(sockets, 'kine.sock'), egressSocket: join(sockets, 'egress.sock') };
}

/** Writes the files into a directory that is named after what is in them: one that has its name is whole. */
export async function writeFiles({ dir, identity }: ClusterPlace, files: Record<string, string>): Promise<string> {
  const wanted = join(dir, `keys-${hashOf(files)}`);
  if (await lstat(wanted).catch(() => undefined)) return wanted;
  const making = `${wanted}.making`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { mode: 0o700 });
  const { owner } = identity;
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(making, name), text, { mode: 0o600 });
    if (owner) await chown(join(making, name), owner.uid, owner.gid);
  }
  if (owner) await chown(making, owner.uid, owner.gid);
  await rename(making, wanted);
  return wanted;
}

/** Files that no program reads any more go: nothing of an old key stays behind. */
export async function dropOtherFiles({ dir }: ClusterPlace, keysDir: string | undefined): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    const path = join(dir, name);
    if (name.startsWith('keys-') && path !== keysDir) await rm(path, { recursive: true, force: true });
  }
}

/** Everything of a cluster whose programs have ended. */
export async function removePlace(dataDir: string, cluster: string): Promise<void> {
  const dir = join(await realpath(runDir(dataDir)).catch(() => runDir(dataDir)), cluster);
  const sockets = await makeSocketDir({ dir, name: 'egress.sock', of: dir, owner: undefined });
  if (sockets !== dir) await rm(sockets, { recursive: true, force: true });
  await rm(dir, { recursive: true, force: true });
}

/** Clusters that have a directory here. */
export const placesIn = (dataDir: string): Promise<string[]> => readdir(runDir(dataDir)).catch(() => []);
