import { randomUUID } from 'node:crypto';
import { openStorage } from '../../boot/storage.ts';
import type { Config } from '../../kernel/config.ts';
import { type Finding, fail, ok } from './finding.ts';

/** Writes, reads and removes one small object. */
export async function checkStorage(config: Config): Promise<Finding> {
  const what = config.storage || `${config.data}/blobs`;
  const storage = await openStorage(config);
  const key = `doctor/${randomUUID()}`;
  try {
    await storage.put(key, Buffer.from('doctor'));
    const size = (await storage.stat(key))?.size;
    await storage.remove(key);
    return size === 6
      ? ok('storage', `${what} can be written and read`)
      : fail('storage', `${what} does not give back what was written to it; check that nothing else writes there`);
  } catch (error) {
    const { code, cause, message } = error as Error & { code?: string; cause?: { code?: string; name?: string } };
    return fail(
      'storage',
      `${what} cannot be written (${cause?.code ?? cause?.name ?? code ?? message}); ${config.storage ? 'check QUARTERDECK_STORAGE and the S3 settings' : 'check who owns the directory, and its disk'}`,
    );
  } finally {
    await storage.close();
  }
}
