import { resolve } from 'node:path';
import type { Command } from 'commander';
import { areas } from '../../areas/index.ts';
import { openStorage } from '../../boot/storage.ts';
import { audit, operator } from '../../identity/audit.ts';
import { version } from '../../serve.ts';
import { jsonOption } from '../options.ts';
import { installation } from '../organization.ts';
import { bytes, printJson, type Shown } from '../output.ts';
import { atDatabase } from '../session.ts';
import { backup, bytesIn, rowsIn } from './backup.ts';

interface Wanted extends Shown {
  withKey?: true;
  blobs: boolean;
  allowMissing?: true;
}

export function backupCommand(admin: Command) {
  admin
    .command('backup')
    .description('copy everything into a new directory while the server runs: rows of one moment, and the objects they name')
    .argument('<directory>', 'a directory that does not exist yet')
    .option('--with-key', 'include secret.key; otherwise keep a copy of it elsewhere: without it sealed secrets cannot be opened')
    .option('--no-blobs', 'leave out image layers and mail, when the storage has a backup of its own')
    .option('--allow-missing', 'go on when the storage does not hold an object that the database names')
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ config, database, db }, directory: string, o: Wanted) => {
        const target = resolve(directory);
        const storage = o.blobs ? await openStorage(config) : undefined;
        const { withKey = false, allowMissing = false } = o;
        const made = await backup({
          target,
          connection: database.direct,
          areas,
          dataDir: config.data,
          release: version,
          ...(storage ? { storage } : {}),
          withKey,
          allowMissing,
        }).finally(() => storage?.close());
        const summary = { directory: target, createdAt: made.createdAt, tables: made.tables.length, rows: rowsIn(made), bytes: bytesIn(made), objects: made.blobs?.count ?? null, missing: made.blobs?.missing ?? 0, key: withKey };
        await db.write((tx) => audit(tx, operator(installation), 'installation.backup', { id: target }, { rows: summary.rows, key: withKey }));
        if (o.json) return printJson(summary);
        console.log(`${target} holds ${summary.rows} rows in ${summary.tables} tables and ${made.blobs ? `${made.blobs.count} objects` : 'no objects'}, ${bytes(summary.bytes)}, as of ${made.createdAt}; all of it was read back`);
        if (summary.missing) console.error(`${summary.missing} objects that the database names were not in the storage and are not in the backup`);
        if (!withKey) console.error(`it holds no secret.key: keep a copy of ${config.data}/secret.key apart from it; without that file its sealed secrets stay closed`);
        else console.error('it holds secret.key: whoever has this directory can open every secret in it');
      }),
    );
}
