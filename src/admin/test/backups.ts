import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freshDatabase } from '../../../test/harness/postgres.ts';
import type { AnyArea } from '../../areas/area.ts';
import { ensureOrganization } from '../../boot/first-start.ts';
import { readConfig } from '../../kernel/config.ts';
import { migrate, readMigrations } from '../../kernel/migrate.ts';
import { openRing } from '../../kernel/secrets.ts';
import { requireStorage } from '../../kernel/storage/canary.ts';
import { fileStorage } from '../../kernel/storage/index.ts';
import { migrationsOf } from '../../serve.ts';
import { backup } from '../backup/backup.ts';
import { dbOn, scratch } from './support.ts';

/** What names one object, and has no tables. */
const objects: AnyArea = {
  name: 'objects',
  operations: [],
  stored: async function* () {
    yield 'a/b';
  },
};

/**
 * The kernel, identity and one object: what is refused, and when, does not hang on how many tables there are. All areas are in the backup
 * under write load and in those of earlier releases.
 */
export const fewAreas = [objects];
export const fewMigrations = () => readMigrations(migrationsOf(fewAreas));

/** A database as a first start leaves it, and a backup of it. */
export async function backedUp(t: TestContext, options: { withKey?: boolean } = {}) {
  const { connection, drop } = await freshDatabase({ empty: true });
  t.after(drop);
  const directory = await scratch(t);
  const dataDir = join(directory, 'data');
  await mkdir(dataDir);
  await migrate(connection, fewMigrations());
  const db = dbOn(t, connection);
  await db.write(async (tx) => {
    await ensureOrganization(tx, readConfig({}, directory).config);
    await openRing(tx, dataDir);
  });
  const target = join(directory, 'backup');
  const storage = await fileStorage(join(directory, 'blobs'));
  await storage.put('a/b', Buffer.from('an object'));
  await requireStorage(db, storage, 'blobs');
  const withKey = options.withKey ?? true;
  const manifest = await backup({ target, connection, areas: fewAreas, dataDir, release: '0.0.1', storage, withKey });
  return { connection, directory, dataDir, target, manifest };
}
