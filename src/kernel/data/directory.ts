import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { exitCodes, Stop } from '../errors.ts';

/** Names that a start creates in a data directory. A directory with any of them belongs to Quarterdeck. */
const ownNames = new Set([
  'postgres',
  'secret.key',
  'node.id',
  'owner.token',
  'blobs',
  'mail',
  'clusters',
  'faults.log',
  'log',
  'try.mark',
]);

/** Names that may exist before the first start: from the file system, from the operator, or from a start that failed early. */
const isHarmless = (name: string) =>
  name.startsWith('.') || name === 'lost+found' || /^(server|postgres)\.(lock|holder)/.test(name) || /\.(toml|pem|crt|key)$/.test(name);

/** A first start into a home directory is a mistake; Quarterdeck never mixes its files with foreign ones. */
export async function refuseForeignFiles(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch(() => []);
  if (names.some((name) => ownNames.has(name))) return;
  const foreign = names.filter((name) => !isHarmless(name)).sort();
  if (foreign.length === 0) return;
  const shown = foreign.slice(0, 3).join(', ') + (foreign.length > 3 ? ` and ${foreign.length - 3} more` : '');
  throw new Stop(
    exitCodes.dataDirectory,
    `the data directory ${dataDir} holds what is not Quarterdeck’s (${shown}); set QUARTERDECK_DATA to a directory of its own`,
  );
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'it is on a read-only file system',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'it is not a directory',
  EEXIST: 'it is not a directory',
  EISDIR: 'it is a directory',
  ELOOP: 'its path is a loop of links',
  ENAMETOOLONG: 'its path is too long',
};

/** The error for a directory that the operating system does not let us use. Other errors pass through. */
export function notUsable(dataDir: string, error: unknown): unknown {
  const why = reasons[(error as NodeJS.ErrnoException)?.code ?? ''];
  if (!why) return error;
  return new Stop(
    exitCodes.dataDirectory,
    `the data directory ${dataDir} cannot be used: ${why}; set QUARTERDECK_DATA to another directory`,
    { cause: error },
  );
}

/** The same for an entry of the directory, when the error names it. */
export function entryNotUsable(dataDir: string, error: unknown): unknown {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  const why = reasons[code ?? ''];
  const inside = path === undefined ? '' : relative(dataDir, path);
  if (!why || inside === '' || inside.startsWith('..')) return error;
  const [part = ''] = inside.split('/');
  return new Stop(
    exitCodes.dataDirectory,
    `${join(dataDir, part)} cannot be used: ${why}; if it is not Quarterdeck’s, move it away, or set QUARTERDECK_DATA to another directory`,
    { cause: error },
  );
}
