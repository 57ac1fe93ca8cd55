import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { assume, chooseIdentity, type Identity, self } from '../../../kernel/programs/identity.ts';
import { chooseRange, chooseUser, isInRange, namedIn, type SystemFiles, type UserRange } from '../rules/users.ts';

// The user of a cluster's programs. It is stored as the owner of `work/`, in a directory where only the server writes.

/** The programs' user owns this directory and not its parent, so its contents are never trusted as the server's. */
export const workDirOf = (dir: string): string => join(dir, 'work');

/** Why programs of several clusters share a user here; '': each cluster has its own; null: no cluster was started yet. */
let sharedUserReason: string | null = null;
export const knownSharedUserReason = (): string | null => sharedUserReason;

/** Uids chosen by this process, by directory; the directory may not have its owner yet. */
const chosenUids = new Map<string, number>();

export const forgetUser = (dir: string): void => void chosenUids.delete(dir);

const readOrEmpty = (path: string) => readFile(path, 'utf8').catch(() => '');
const readAll = (paths: readonly string[]) => Promise.all(paths.map(readOrEmpty));

async function readSystemFiles(): Promise<SystemFiles> {
  const [named, lent, maps] = await Promise.all([
    readAll(['/etc/passwd', '/etc/group']),
    readAll(['/etc/subuid', '/etc/subgid']),
    readAll(['/proc/self/uid_map', '/proc/self/gid_map']),
  ]);
  return { named, subordinate: lent, maps };
}

/** The owner of this cluster's `work/`; undefined: not assigned yet. */
export async function findOwner(dir: string): Promise<number | undefined> {
  const found = await lstat(workDirOf(dir)).catch(() => undefined);
  return found?.isDirectory() && found.uid !== 0 ? found.uid : undefined;
}

interface UserLookup {
  base: string;
  dir: string;
  cluster: string;
  range: UserRange | undefined;
}

export async function findIdentity({ base, dir, cluster, range: given }: UserLookup): Promise<Identity> {
  if (process.getuid?.() !== 0) {
    sharedUserReason = 'the server is not root, and they run as its own user';
    return self;
  }
  const files = await readSystemFiles();
  const range = chooseRange(given, files);
  const runner = { name: 'a cluster’s control plane', dataDir: base };
  if (!range) {
    sharedUserReason = 'this machine has no numbers of users that are free; set QUARTERDECK_CLUSTER_USERS';
    return chooseIdentity({ ...runner, dir: base, data: workDirOf(dir) });
  }
  const uid = await findUser({ base, dir, cluster, range }, namedIn(files));
  if (uid === undefined)
    throw new Error(`no number is left from ${range.first} to ${range.last} for a cluster’s user; give more in QUARTERDECK_CLUSTER_USERS`);
  const { identity, why = '' } = await assume(runner, { uid, gid: range.first });
  sharedUserReason = why;
  return identity;
}

/** The cluster's present uid if it is usable, else a free one. */
async function findUser({ base, dir, cluster, range }: UserLookup & { range: UserRange }, named: Set<number>): Promise<number | undefined> {
  const own = await findOwner(dir);
  const dataDir = dirname(dirname(base));
  const others = (await readdir(base)).map((name) => join(base, name)).filter((other) => other !== dir);
  const [owners, keepers] = await Promise.all([
    Promise.all(others.map(findOwner)),
    // PostgreSQL runs as the owner of its directory.
    Promise.all([dataDir, join(dataDir, 'postgres')].map((path) => stat(path).catch(() => undefined))),
  ]);
  const taken = new Set([...named, ...owners, ...keepers.map((each) => each?.uid)].filter((uid) => uid !== undefined));
  for (const [other, uid] of chosenUids) if (other !== dir) taken.add(uid);
  // No await between this read and the choice, so that two clusters cannot choose the same uid.
  const uid = own !== undefined && isInRange(range, own) && !taken.has(own) ? own : chooseUser(range, cluster, taken);
  if (uid !== undefined) chosenUids.set(dir, uid);
  return uid;
}
