import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freshDatabase } from '../../../test/harness/postgres.ts';
import { areas } from '../../areas/index.ts';
import { ensureOrganization } from '../../boot/first-start.ts';
import { readConfig } from '../../kernel/config.ts';
import { openRing } from '../../kernel/secrets.ts';
import { fileStorage } from '../../kernel/storage/index.ts';
import { backup } from '../backup/backup.ts';
import { dbOn, scratch } from './support.ts';

/** A database as a first start leaves it, and a backup of it. */
export async function backedUp(t: TestContext, options: { withKey?: boolean } = {}) {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const directory = await scratch(t);
  const dataDir = join(directory, 'data');
  await mkdir(dataDir);
  await dbOn(t, connection).write(async (tx) => {
    await ensureOrganization(tx, readConfig({}, directory).config);
    await openRing(tx, dataDir);
  });
  const target = join(directory, 'backup');
  const storage = await fileStorage(join(directory, 'blobs'));
  await storage.put('a/b', Buffer.from('an object'));
  const manifest = await backup({
    target,
    connection,
    areas: [
      ...areas,
      {
        name: 'objects',
        operations: [],
        stored: async function* () {
          yield 'a/b';
        },
      },
    ],
    dataDir,
    release: '0.0.1',
    storage,
    withKey: options.withKey ?? true,
  });
  return { connection, directory, dataDir, target, manifest };
}
