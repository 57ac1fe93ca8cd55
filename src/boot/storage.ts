import { join } from 'node:path';
import type { Config } from '../kernel/config.ts';
import type { Db } from '../kernel/db/index.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { requireStorage } from '../kernel/storage/canary.ts';
import { fileStorage, type Storage, s3Storage } from '../kernel/storage/index.ts';

/** As sentences name it. */
export const nameStorage = (config: Config): string => config.storage || join(config.data, 'blobs');

const againMs = 10_000;

/**
 * Refuses a storage that is not this database's. While the storage does not answer the start goes on, since pages do not need it; it is
 * asked every 10 s until it does, and a wrong one ends the server then. Probers and shards read and write no objects, and are not asked.
 * Returns what ends the asking.
 */
export async function checkStorage(db: Db, storage: Storage, config: Config, log: Logger): Promise<() => Promise<void>> {
  if (config.roles.every((role) => role === 'prober' || role === 'shard')) return async () => {};
  const check = () => requireStorage(db, storage, nameStorage(config));
  try {
    await check();
    return async () => {};
  } catch (error) {
    if (error instanceof Stop) throw error;
    log.warn({ err: error }, 'the storage does not answer, so nothing shows that it is this installation’s; asking again');
  }
  const timer = setInterval(
    () =>
      check().then(
        () => clearInterval(timer),
        (error) => {
          if (!(error instanceof Stop)) return;
          clearInterval(timer);
          log.fatal(error.message);
          process.kill(process.pid, 'SIGTERM');
        },
      ),
    againMs,
  ).unref();
  return async () => clearInterval(timer);
}

/** Files below the data directory, or a bucket. */
export async function openStorage(config: Config): Promise<Storage> {
  if (!config.storage) return fileStorage(join(config.data, 'blobs'));
  const m = /^s3:\/\/([a-z0-9.-]{3,63})(?:\/(.*))?$/.exec(config.storage);
  if (!m)
    throw new Stop(
      exitCodes.configuration,
      `the setting QUARTERDECK_STORAGE is wrong: expected s3://bucket/prefix, found "${config.storage}"`,
    );
  return s3Storage({
    bucket: m[1]!,
    ...(m[2] ? { prefix: m[2] } : {}),
    region: config.s3_region,
    ...(config.s3_endpoint ? { endpoint: config.s3_endpoint, forcePathStyle: true } : {}),
    accessKeyId: config.s3_access_key,
    secretAccessKey: config.s3_secret_key,
  });
}
