import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { nameStorage, openStorage } from '../../boot/storage.ts';
import type { Config } from '../../kernel/config.ts';
import type { Db } from '../../kernel/db/index.ts';
import { Stop } from '../../kernel/errors.ts';
import { checkStorage as checkStorageId } from '../../kernel/storage/canary.ts';
import { type Finding, fail, ok } from './finding.ts';

/** Whether this is the storage of this database; silent if it is, and while it cannot be asked, which the other check tells. */
export async function checkStorageMark(config: Config, db: Db): Promise<Finding[]> {
  const storage = await openStorage(config);
  try {
    const sentence = await checkStorageId(db, storage, nameStorage(config));
    return sentence === undefined ? [] : [fail('storage', sentence)];
  } catch {
    return [];
  } finally {
    await storage.close();
  }
}

/** Writes, reads and removes one small object. */
export async function checkStorage(config: Config): Promise<Finding> {
  const what = config.storage || join(config.data, 'blobs');
  if (!config.storage && !existsSync(config.data)) return ok('storage', `${what} is not there yet; the first start makes it`);
  try {
    return (await givesBack(config))
      ? ok('storage', `${what} can be written and read`)
      : fail('storage', `${what} does not give back what was written to it; check that nothing else writes there`);
  } catch (error) {
    if (error instanceof Stop) return fail('storage', error.message);
    const { code, cause, message } = error as Error & { code?: string; cause?: { code?: string; name?: string } };
    const why = cause?.code ?? cause?.name ?? code ?? message;
    const then = config.storage ? 'check QUARTERDECK_STORAGE and the S3 settings' : 'check who owns the directory, and its disk';
    return fail('storage', `${what} cannot be written (${why}); ${then}`);
  }
}

async function givesBack(config: Config): Promise<boolean> {
  const storage = await openStorage(config);
  const key = `doctor/${randomUUID()}`;
  try {
    await storage.put(key, Buffer.from('doctor'));
    const size = (await storage.stat(key))?.size;
    await storage.remove(key);
    return size === 6;
  } finally {
    await storage.close();
  }
}
