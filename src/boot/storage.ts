import { join } from 'node:path';
import type { Config } from '../kernel/config.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import { fileStorage, type Storage, s3Storage } from '../kernel/storage/index.ts';

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
