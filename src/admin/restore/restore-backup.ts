import { resolve } from 'node:path';
import { tell } from '../../../cli/tell.ts';
import { areas } from '../../areas/index.ts';
import type { Database } from '../../boot/database.ts';
import { openStorage } from '../../boot/storage.ts';
import { audit, operator } from '../../identity/audit.ts';
import { openDb } from '../../kernel/db/index.ts';
import { readMigrations } from '../../kernel/migrate.ts';
import { migrationsOf } from '../../serve.ts';
import { rowsIn } from '../backup/manifest.ts';
import { installation } from '../organization.ts';
import { type OutputOptions, printJson } from '../output.ts';
import { type Progress, withProgress } from '../progress.ts';
import { readOwnSettings, withDatabase } from '../session.ts';
import { prepare, restore } from './restore.ts';

export const restoreBackup = (given: string, o: RestoreOptions) => withProgress((progress) => restoreFrom(given, o, progress));

type RestoreOptions = OutputOptions & { unauthenticated?: true };

async function restoreFrom(given: string, o: RestoreOptions, progress: Progress) {
  const config = readOwnSettings();
  const directory = resolve(given);
  const migrations = readMigrations(migrationsOf(areas));
  const prepared = await prepare(directory, config.data, migrations, { ...o, progress });
  const { release, createdAt, blobs } = prepared.manifest;
  const rows = rowsIn(prepared.manifest);
  let isCommitted = false;
  const onCommitted = () => {
    isCommitted = true;
  };
  const work = async (database: Database) => {
    const storage = await openStorage(config);
    const restored = await restore(prepared, { database, storage, dataDir: config.data, areas, migrations, progress, onCommitted }).finally(
      () => storage.close(),
    );
    const db = openDb({ connection: database.connection, max: 1 });
    await db
      .write((tx) => audit(tx, operator(installation), 'installation.restore', { id: directory }, { release, createdAt, rows }))
      .finally(() => db.end());
    return restored;
  };
  progress.begin('opening the database');
  const { migrated, jobs } = await withDatabase(config, work, () =>
    isCommitted
      ? 'everything is restored, and the next start brings it up to date'
      : 'no row is restored; the same command begins again, and no server starts here before it has ended',
  );
  progress.end();

  if (o.json) return printJson({ directory, release, createdAt, rows, objects: blobs?.count ?? null, migrated, jobs });
  const forward = migrated.length ? `, then brought up to date by ${migrated.length} migrations` : '';
  console.log(`restored ${rows} rows and ${blobs?.count ?? 'no'} objects as of ${createdAt} (release ${release})${forward}`);
  if (!blobs) tell('the backup holds no objects: set QUARTERDECK_STORAGE to the storage that has them');
  tell(
    `nothing leaves from here yet, ${jobs} jobs wait: see that the old server is stopped, start this one, then \`quarterdeck admin restore go\` shows what would be sent again and lets it go`,
  );
}
