import { resolve } from 'node:path';
import type { Command } from 'commander';
import { areas } from '../../areas/index.ts';
import { openStorage } from '../../boot/storage.ts';
import { audit, operator } from '../../identity/audit.ts';
import { openDb } from '../../kernel/db.ts';
import { readMigrations } from '../../kernel/migrate.ts';
import { migrationsOf } from '../../serve.ts';
import { rowsIn } from '../backup/backup.ts';
import { jsonOption } from '../options.ts';
import { installation } from '../organization.ts';
import { printJson, type Shown } from '../output.ts';
import { readSettings, withDatabase } from '../session.ts';
import { prepare, restore } from './restore.ts';

export function restoreCommand(admin: Command) {
  admin
    .command('restore')
    .description('fill an empty database, embedded or external, from a backup of this release or an older one')
    .argument('<directory>', 'what `quarterdeck admin backup` made')
    .addOption(jsonOption())
    .action(async (given: string, o: Shown) => {
      const config = readSettings();
      const directory = resolve(given);
      const migrations = await readMigrations(migrationsOf(areas));
      const prepared = await prepare(directory, config.data, migrations);
      const { manifest } = prepared;
      const restored = await withDatabase(config, async (database) => {
        const storage = await openStorage(config);
        const done = await restore(prepared, { database, storage, dataDir: config.data, areas, migrations }).finally(() => storage.close());
        const db = openDb({ connection: database.connection, max: 1 });
        const detail = { release: manifest.release, createdAt: manifest.createdAt, rows: rowsIn(manifest) };
        await db.write((tx) => audit(tx, operator(installation), 'installation.restore', { id: directory }, detail)).finally(() => db.end());
        return done;
      });
      if (o.json) return printJson({ directory, release: manifest.release, createdAt: manifest.createdAt, rows: rowsIn(manifest), objects: manifest.blobs?.count ?? null, ...restored });
      const migrated = restored.migrated.length ? `, then brought up to date by ${restored.migrated.length} migrations` : '';
      console.log(`restored ${rowsIn(manifest)} rows and ${manifest.blobs?.count ?? 'no'} objects as of ${manifest.createdAt} (release ${manifest.release})${migrated}; start with \`quarterdeck serve\``);
      if (!manifest.blobs) console.error('the backup holds no objects: set QUARTERDECK_STORAGE to the storage that has them');
      if (restored.jobs) console.error(`${restored.jobs} jobs wait and run at the next start: mail and pages that were due leave from here; make sure that the old server is stopped`);
    });
}
