import { constants } from 'node:fs';
import { access, chmod, lstat, mkdir, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { notUsable } from '../data/directory.ts';
import { exitCodes, Stop } from '../errors.ts';

/** The major version of this release. Another major has another directory beside it, filled by backup and restore. */
export const major = '18';

/** The paths of the embedded PostgreSQL below a data directory. */
export interface PostgresPaths {
  dataDir: string;
  /** Owned by Quarterdeck: cluster, log and, when its path is short enough, the socket. */
  dir: string;
  cluster: string;
  password: string;
  log: string;
}

/** The paths only; touches nothing. The path is the real one, since /proc names real paths. */
export async function pathsIn(dataDir: string): Promise<PostgresPaths> {
  const real = await realpath(dataDir);
  const dir = join(real, 'postgres');
  const cluster = join(dir, major);
  return { dataDir: real, dir, cluster, password: join(cluster, 'quarterdeck.password'), log: join(dir, 'log') };
}

/** Creates missing directories and refuses a foreign data directory. */
export async function preparePaths(dataDir: string): Promise<PostgresPaths> {
  try {
    // 0711: other users cannot list it, but a PostgreSQL that must not run as root can pass through. Secrets in it are 0600.
    if (await mkdir(dataDir, { recursive: true, mode: 0o711 })) await chmod(dataDir, 0o711);
    const paths = await pathsIn(dataDir);
    await mkdir(paths.dir, { recursive: true, mode: 0o700 });
    // As root this directory is given away; a link could make that any directory.
    if ((await lstat(paths.dir)).isSymbolicLink())
      refuse(`${paths.dir} is a link; set QUARTERDECK_DATA to the directory that really holds the data`);
    await refuseOtherOwner(paths.dir);
    await access(paths.dir, constants.R_OK | constants.W_OK | constants.X_OK);
    await refuseForeignData(paths);
    return paths;
  } catch (error) {
    throw notUsable(dataDir, error);
  }
}

const refuse = (sentence: string): never => {
  throw new Stop(exitCodes.dataDirectory, sentence);
};

/**
 * A start as root leaves files of the unprivileged user. The next start by an ordinary user should get this sentence, not "permission
 * denied".
 */
export async function refuseOtherOwner(dir: string): Promise<void> {
  const uid = process.getuid?.();
  const owner = (await stat(dir)).uid;
  if (uid === undefined || uid === 0 || owner === uid) return;
  refuse(
    `${dir} belongs to the user with id ${owner}, not to you (${uid}); start Quarterdeck as that user or as root, or chown it to yourself`,
  );
}

async function refuseForeignData(paths: PostgresPaths): Promise<void> {
  if (await exists(join(paths.dataDir, 'PG_VERSION')))
    refuse(`${paths.dataDir} is itself the data directory of a PostgreSQL server; set QUARTERDECK_DATA to a directory of its own`);

  const others = (await readdir(paths.dir)).filter((name) => /^\d+$/.test(name) && name !== major).sort((a, b) => Number(b) - Number(a));
  const newest = others[0];
  if (newest && Number(newest) > Number(major))
    refuse(`${paths.dataDir} was written by a newer Quarterdeck (PostgreSQL ${newest}, this one has ${major}); start that version instead`);

  const found = await clusterState(paths);
  if (found === 'absent') {
    if (newest)
      refuse(
        `${paths.dataDir} holds PostgreSQL ${newest} and this Quarterdeck has ${major}; run \`quarterdeck admin backup\` with the version that wrote it, then restore into a new QUARTERDECK_DATA`,
      );
    return;
  }
  await refuseOtherOwner(paths.cluster);
  if (found === 'foreign')
    refuse(
      `${paths.cluster} holds something that is not Quarterdeck's database; move it away, or set QUARTERDECK_DATA to another directory`,
    );
  if (found === 'other version')
    refuse(
      `${paths.cluster} was written by PostgreSQL ${await versionOf(paths)} and this Quarterdeck has ${major}; start the version that wrote it, or set QUARTERDECK_DATA to another directory`,
    );
}

/** The password is moved in as the last step before a new cluster gets its name, so a cluster without one is foreign. */
export async function clusterState(paths: PostgresPaths): Promise<'absent' | 'ours' | 'foreign' | 'other version'> {
  if ((await lstat(paths.cluster).catch(() => undefined))?.isSymbolicLink()) return 'foreign';
  const entries = await readdir(paths.cluster).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    if (error.code === 'ENOTDIR') return ['not a directory'];
    throw error;
  });
  if (entries.length === 0) return 'absent';
  if (!entries.includes('PG_VERSION')) return 'foreign';
  if ((await versionOf(paths)) !== major) return 'other version';
  return entries.includes('quarterdeck.password') ? 'ours' : 'foreign';
}

const versionOf = async (paths: PostgresPaths): Promise<string> => (await readFile(join(paths.cluster, 'PG_VERSION'), 'utf8')).trim();

export const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
