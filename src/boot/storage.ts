import { join } from 'node:path';
import type { Config } from '../kernel/config.ts';
import type { Db } from '../kernel/db/index.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { requireStorage } from '../kernel/storage/canary.ts';
import { fileStorage, type Storage, s3Storage } from '../kernel/storage/index.ts';
import { stopWithExitCode } from './stop-with-exit-code.ts';

/** As sentences name it. */
export const nameStorage = (config: Config): string => config.storage || join(config.data, 'blobs');

const retryMs = 10_000;

export interface CheckedStorage {
  storage: Storage;
  /** Ends the asking. */
  stop(): Promise<void>;
}

/**
 * Refuses a storage that is not this database's. While the storage does not answer the start goes on, since pages do not need it; it is
 * asked every 10 s until it does, and before each write. A wrong one ends the server then. Probers and shards read and write no objects,
 * and are not asked.
 */
export async function checkStorage(db: Db, storage: Storage, config: Config, log: Logger): Promise<CheckedStorage> {
  const asIs = { storage, stop: async () => {} };
  if (config.roles.every((role) => role === 'prober' || role === 'shard')) return asIs;
  const check = () => requireStorage(db, storage, nameStorage(config));
  try {
    await check();
    return asIs;
  } catch (error) {
    if (error instanceof Stop) throw error;
    log.warn({ err: error }, 'the storage does not answer, so nothing shows that it is this installation’s; asking again');
  }
  let isChecked = false;
  const checkOnce = async () => {
    if (isChecked) return;
    await check();
    isChecked = true;
    clearInterval(timer);
  };
  const timer = setInterval(
    () =>
      checkOnce().catch((error) => {
        if (!(error instanceof Stop)) return;
        clearInterval(timer);
        log.fatal(error.message);
        stopWithExitCode(error.exitCode);
      }),
    retryMs,
  ).unref();
  return { storage: checkedBeforeWrites(storage, checkOnce), stop: async () => clearInterval(timer) };
}

/** A push that is answered with 201 must not lie in a storage which turns out to be another installation's a moment later. */
const checkedBeforeWrites = (storage: Storage, check: () => Promise<void>): Storage => ({
  ...storage,
  put: async (...given) => {
    await check();
    return storage.put(...given);
  },
  createUpload: async () => {
    await check();
    return storage.createUpload();
  },
  append: async (...given) => {
    await check();
    return storage.append(...given);
  },
  commit: async (...given) => {
    await check();
    return storage.commit(...given);
  },
});

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
