import { constants } from 'node:fs';
import { access, chmod, lstat, mkdir, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { notUsable } from '../data/directory.ts';
import { exitCodes, Stop } from '../errors.ts';

/** The one major version this release carries. Another major is another directory beside it, filled by backup and restore. */
export const major = '18';

/** Where the embedded PostgreSQL lives below a data directory. */
export interface PostgresPaths {
  dataDir: string;
  /** Ours alone: cluster, log and, when its path is short enough, the socket. */
  dir: string;
  cluster: string;
  password: string;
  log: string;
}

/** The place as it would be, nothing touched. The path is the real one: /proc names real paths, and so must we. */
export async function pathsIn(dataDir: string): Promise<PostgresPaths> {
  const real = await realpath(dataDir);
  const dir = join(real, 'postgres');
  const cluster = join(dir, major);
  return { dataDir: real, dir, cluster, password: join(cluster, 'quarterdeck.password'), log: join(dir, 'log') };
}

/** Makes the directories that are missing and refuses a data directory that is somebody else's. */
export async function preparePaths(dataDir: string): Promise<PostgresPaths> {
  try {
    // 0711: nobody else lists it, but a PostgreSQL that must not run as root can walk through. What is secret in it is 0600.
    if (await mkdir(dataDir, { recursive: true, mode: 0o711 })) await chmod(dataDir, 0o711);
    const place = await pathsIn(dataDir);
    await mkdir(place.dir, { recursive: true, mode: 0o700 });
    // As root we give this directory away; a link could make that any directory.
    if ((await lstat(place.dir)).isSymbolicLink())
      refuse(`${place.dir} is a link; set QUARTERDECK_DATA to the directory that really holds the data`);
    await refuseOthers(place.dir);
    await access(place.dir, constants.R_OK | constants.W_OK | constants.X_OK);
    await refuseForeign(place);
    return place;
  } catch (error) {
    throw notUsable(dataDir, error);
  }
}

const refuse = (sentence: string): never => {
  throw new Stop(exitCodes.dataDirectory, sentence);
};

/** A start as root leaves files of `nobody`: an ordinary user who comes next should hear that, not "permission denied". */
export async function refuseOthers(dir: string): Promise<void> {
  const uid = process.getuid?.();
  const owner = (await stat(dir)).uid;
  if (uid === undefined || uid === 0 || owner === uid) return;
  refuse(
    `${dir} belongs to the user with id ${owner}, not to you (${uid}); start Quarterdeck as that user or as root, or chown it to yourself`,
  );
}

async function refuseForeign(place: PostgresPaths): Promise<void> {
  if (await exists(join(place.dataDir, 'PG_VERSION')))
    refuse(`${place.dataDir} is itself the data directory of a PostgreSQL server; set QUARTERDECK_DATA to a directory of its own`);

  const others = (await readdir(place.dir)).filter((name) => /^\d+$/.test(name) && name !== major).sort((a, b) => Number(b) - Number(a));
  const newest = others[0];
  if (newest && Number(newest) > Number(major))
    refuse(`${place.dataDir} was written by a newer Quarterdeck (PostgreSQL ${newest}, this one has ${major}); start that version instead`);

  const found = await clusterState(place);
  if (found === 'absent') {
    if (newest)
      refuse(
        `${place.dataDir} holds PostgreSQL ${newest} and this Quarterdeck has ${major}; run \`quarterdeck admin backup\` with the version that wrote it, then restore into a new QUARTERDECK_DATA`,
      );
    return;
  }
  await refuseOthers(place.cluster);
  if (found === 'foreign')
    refuse(
      `${place.cluster} holds something that is not Quarterdeck's database; move it away, or set QUARTERDECK_DATA to another directory`,
    );
  if (found === 'other version')
    refuse(
      `${place.cluster} was written by PostgreSQL ${await versionOf(place)} and this Quarterdeck has ${major}; start the version that wrote it, or set QUARTERDECK_DATA to another directory`,
    );
}

/** The password is moved in as the last act before a new cluster gets its name, so a cluster without one was not made by us. */
export async function clusterState(place: PostgresPaths): Promise<'absent' | 'ours' | 'foreign' | 'other version'> {
  if ((await lstat(place.cluster).catch(() => undefined))?.isSymbolicLink()) return 'foreign';
  const entries = await readdir(place.cluster).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    if (error.code === 'ENOTDIR') return ['not a directory'];
    throw error;
  });
  if (entries.length === 0) return 'absent';
  if (!entries.includes('PG_VERSION')) return 'foreign';
  if ((await versionOf(place)) !== major) return 'other version';
  return entries.includes('quarterdeck.password') ? 'ours' : 'foreign';
}

const versionOf = async (place: PostgresPaths): Promise<string> => (await readFile(join(place.cluster, 'PG_VERSION'), 'utf8')).trim();

export const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
