import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config, Key } from '../kernel/config.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';

/** A data directory with this file was made by `serve --try`. */
const markFile = (dataDir: string) => join(dataDir, 'try.mark');

export const isTryDirectory = (dataDir: string): boolean => existsSync(markFile(dataDir));

/** Without --try, mail and pages would leave for real from data that was made for playing. */
export function refuseTryDirectory(dataDir: string): void {
  if (!isTryDirectory(dataDir)) return;
  throw new Stop(
    exitCodes.dataDirectory,
    `${dataDir} was made by serve --try, and is for trying only; start with --try, or set QUARTERDECK_DATA to another directory`,
  );
}

/** Marks an empty directory as one for trying. A directory with data in earnest is refused. */
export async function claimTryDirectory(dataDir: string): Promise<void> {
  if (isTryDirectory(dataDir)) return;
  const names = (await readdir(dataDir).catch(() => [])).filter((name) => !name.startsWith('.') && name !== 'lost+found');
  if (names.length)
    throw new Stop(
      exitCodes.dataDirectory,
      `--try makes a data directory of its own, and ${dataDir} is in use already (${names.slice(0, 3).join(', ')}); set QUARTERDECK_DATA to an empty one, or leave it unset`,
    );
  // Others may enter it: where the server is root, PostgreSQL runs as another user.
  if (await mkdir(dataDir, { recursive: true, mode: 0o711 })) await chmod(dataDir, 0o711);
  await writeFile(markFile(dataDir), 'This directory was made by quarterdeck serve --try. Delete it when you are done.\n');
}

/** Every address that the server listens on. */
const listening = [
  'listen',
  'smtp_submission',
  'smtps',
  'smtp_inbound',
  'cluster_listen',
  'metrics_listen',
] as const satisfies readonly Key[];

/** Where data would be kept that is not this machine's own. */
export function refuseOutsideStores(config: Config): void {
  const { database_url, database_direct_url, storage, trusted_proxies } = config;
  const refuse = (sentence: string): never => {
    throw new Stop(exitCodes.configuration, `--try ${sentence}`);
  };
  if (database_url) refuse('runs its own PostgreSQL and touches no other; unset QUARTERDECK_DATABASE_URL');
  if (database_direct_url) refuse('runs its own PostgreSQL and touches no other; unset QUARTERDECK_DATABASE_DIRECT_URL');
  if (storage) refuse('keeps everything in its own directory; unset QUARTERDECK_STORAGE');
  for (const key of listening)
    if (config[key] && !['127.0.0.1', '::1', 'localhost'].includes(config[key].host))
      refuse(`listens on loopback only, and its pages ask for no login; QUARTERDECK_${key.toUpperCase()} names ${config[key].host}`);
  if (trusted_proxies.length) refuse('serves this machine only, with no proxy in front; unset QUARTERDECK_TRUSTED_PROXIES');
}
