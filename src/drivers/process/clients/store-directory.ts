import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lchown, lstat, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Owner } from '../../../kernel/programs/identity.ts';
import { removeTree } from '../../../kernel/programs/remove-tree.ts';
import { writeRecord } from '../../../kernel/programs/start.ts';
import type { MembersFile } from '../rules/etcd/members.ts';

// etcd's files: <data>/clusters/stores/<cluster>/etcd-<generation>/, with members.json and a directory for each member. They are not below the
// directory of the cluster's programs, which is made anew when its user changes.

const storesDir = (dataDir: string): string => join(dataDir, 'clusters', 'stores');
export const storeDirOf = (dataDir: string, cluster: string): string => join(storesDir(dataDir), cluster);
export const generationDirOf = (storeDir: string, generation: number): string => join(storeDir, `etcd-${generation}`);
const membersPath = (generationDir: string) => join(generationDir, 'members.json');

/** The server owns all but the members' directories; programs can pass through it to these. */
export async function prepareStoreDir(dataDir: string, cluster: string): Promise<string> {
  const { uid, gid } = await stat(dataDir);
  const dir = storeDirOf(dataDir, cluster);
  for (const each of [join(dataDir, 'clusters'), storesDir(dataDir), dir]) await makePassable(each);
  // Root gives it to the owner of the data directory, who may start the server without root next time.
  if (process.getuid?.() === 0 && uid !== 0)
    for (const each of [storesDir(dataDir), dir]) if ((await lstat(each)).uid === 0) await lchown(each, uid, gid);
  await rm(unknownPath(dir), { force: true });
  return dir;
}

async function makePassable(dir: string): Promise<void> {
  if (await mkdir(dir, { recursive: true, mode: 0o711 })) await chmod(dir, 0o711);
}

/** Makes a generation in one step: what `fill` has put into the directory is there completely, or not at all. */
export async function makeGeneration(storeDir: string, generation: number, fill: (dir: string) => Promise<MembersFile>): Promise<void> {
  const making = `${generationDirOf(storeDir, generation)}.making`;
  await removeGenerationDir(making);
  await makePassable(making);
  await writeRecord(membersPath(making), await fill(making));
  await rename(making, generationDirOf(storeDir, generation));
}

/** Written before the first request reaches a generation: from then on it may hold the only copy of what was acknowledged, whatever an older database
 *  says of it. */
export const markServed = (generationDir: string): Promise<void> => writeRecord(join(generationDir, 'served'), {});

export const wasServed = async (dataDir: string, cluster: string, generation: number): Promise<boolean> =>
  (await lstat(join(generationDirOf(storeDirOf(dataDir, cluster), generation), 'served')).catch(() => undefined)) !== undefined;

/** Out of the way of a generation that is to be made: files that the database does not know. Nothing removes them by itself. */
export const setAside = (generationDir: string): Promise<void> =>
  rename(generationDir, `${generationDir}.found-${randomUUID().slice(0, 8)}`);

/** Undefined: there is no such generation here. A file that cannot be read, or is not as we wrote it, never counts as missing. */
export async function readMembers(generationDir: string): Promise<MembersFile | undefined> {
  const path = membersPath(generationDir);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  try {
    return file && checkMembers(JSON.parse(await file.readFile('utf8')), path);
  } finally {
    await file?.close();
  }
}

const isPort = (port: unknown) => Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536;

function checkMembers(found: Partial<MembersFile> | null, path: string): MembersFile {
  const isMember = (each: MembersFile['members'][number]) =>
    /^m\d{1,9}$/.test(each.name) && [each.clientPort, each.gatewayPort, each.peerPort].every(isPort);
  if (typeof found?.token === 'string' && Number.isInteger(found.next) && Array.isArray(found.members) && found.members.every(isMember))
    return found as MembersFile;
  throw new Error(`${path} is damaged; restore the cluster from a backup`);
}

export const writeMembers = (generationDir: string, file: MembersFile): Promise<void> => writeRecord(membersPath(generationDir), file);

/** Whether a member has data. */
export const hasData = async (memberDir: string): Promise<boolean> =>
  (await lstat(join(memberDir, 'data', 'member', 'wal')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  })) !== undefined;

/** A member's directory, of the user that its program runs as: etcd's data is below it. No program of that member may run. */
export async function ownMemberDir(memberDir: string, owner: Owner | undefined): Promise<void> {
  await mkdir(memberDir, { recursive: true, mode: 0o700 });
  if (owner) await giveTree(memberDir, owner);
  await refuseForeign(memberDir);
}

async function refuseForeign(path: string): Promise<void> {
  const [uid, found] = [process.getuid?.(), await lstat(path)];
  if (uid !== undefined && uid !== 0 && found.uid !== uid)
    throw new Error(
      `${path} belongs to the user with id ${found.uid}, not to you (${uid}): a server that ran as root was killed; start Quarterdeck as root and stop it, or chown the directory and all in it to yourself`,
    );
}

/** Root follows no link, and changes no file that has a second name. The top is last: while it has another owner, the work is not finished. */
async function giveTree(path: string, owner: Owner): Promise<void> {
  const found = await lstat(path);
  if (process.getuid?.() !== 0 || (found.uid === owner.uid && found.gid === owner.gid)) return;
  if (found.isDirectory()) for (const name of await readdir(path)) await giveTree(join(path, name), { ...owner });
  else if (found.nlink > 1) throw new Error(`${path} has another name elsewhere; etcd makes no such files`);
  await lchown(path, owner.uid, owner.gid);
}

/** Once no program runs: for root over the data of an ordinary user, who may start without root. */
export async function returnStoreToDataOwner(dataDir: string, cluster: string): Promise<void> {
  const { uid, gid } = await stat(dataDir);
  const dir = storeDirOf(dataDir, cluster);
  if (process.getuid?.() !== 0 || uid === 0 || !(await lstat(dir).catch(() => undefined))) return;
  for (const path of await pathsBelow(dir)) await lchown(path, uid, gid);
}

/** Everything below a directory, and the directory itself last. No link is followed. */
async function pathsBelow(path: string): Promise<string[]> {
  const found = await lstat(path);
  const below = found.isDirectory() ? await Promise.all((await readdir(path)).map((name) => pathsBelow(join(path, name)))) : [];
  return [...below.flat(), path];
}

/** Removes a member's data. */
export const removeMemberDir = (memberDir: string): Promise<void> => removeTree(memberDir);

async function removeGenerationDir(dir: string): Promise<void> {
  // Members' directories are of another user: each is emptied as that user.
  for (const name of await readdir(dir).catch(() => [])) await removeTree(join(dir, name));
  await rm(dir, { recursive: true, force: true });
}

/** Undefined: the name is of no generation. One that was never complete counts too. */
const generationOf = (name: string): number | undefined => {
  const [, number] = /^etcd-(\d{1,9})(\.making)?$/.exec(name) ?? [];
  return number === undefined ? undefined : Number(number);
};

/** The generations that have files here. */
export async function listGenerations(dataDir: string, cluster: string): Promise<{ cluster: string; generation: number }[]> {
  const found = new Set((await readdir(storeDirOf(dataDir, cluster)).catch(() => [])).map(generationOf));
  return [...found].flatMap((generation) => (generation === undefined ? [] : [{ cluster, generation }]));
}

export async function removeGeneration(dataDir: string, cluster: string, generation: number): Promise<void> {
  const storeDir = storeDirOf(dataDir, cluster);
  for (const name of await readdir(storeDir)) if (generationOf(name) === generation) await removeGenerationDir(join(storeDir, name));
}

/** Removes all of a cluster whose programs have stopped. */
export async function removeStore(dataDir: string, cluster: string): Promise<void> {
  const dir = storeDirOf(dataDir, cluster);
  for (const name of await readdir(dir).catch(() => []))
    await removeGenerationDir(join(dir, name)).catch(() => removeTree(join(dir, name)));
  await rmdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** Ids of clusters that have files of etcd here. */
export const listStores = (dataDir: string): Promise<string[]> => readdir(storesDir(dataDir)).catch(() => []);

const unknownPath = (dir: string) => join(dir, 'unknown-since');

/** Notes that the database does not know the cluster. Returns since when, in milliseconds. */
export async function noteUnknown(dataDir: string, cluster: string, now: number): Promise<number> {
  const path = unknownPath(storeDirOf(dataDir, cluster));
  const known = await open(path, 'r').catch(() => undefined);
  try {
    const since = Number(await known?.readFile('utf8'));
    if (known && Number.isFinite(since)) return since;
  } finally {
    await known?.close();
  }
  await writeRecord(path, now);
  return now;
}
