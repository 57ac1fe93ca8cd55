import { resolve } from 'node:path';
import { forTerminal, tell } from '../../../cli/tell.ts';
import { areas } from '../../areas/index.ts';
import { openStorage } from '../../boot/storage.ts';
import { audit, operator } from '../../identity/audit.ts';
import { keyFile, readKeys } from '../../kernel/secrets.ts';
import { version } from '../../kernel/version.ts';
import { installation } from '../organization.ts';
import { bytes, type OutputOptions, printJson } from '../output.ts';
import { type Progress, withProgress } from '../progress.ts';
import type { Session } from '../session.ts';
import { backup } from './backup.ts';
import { type Manifest, rowsIn } from './manifest.ts';
import { withSegments } from './segments.ts';

interface Wanted extends OutputOptions {
  withKey?: true;
  blobs: boolean;
  allowMissing?: true;
}

export async function makeBackup({ config, database, db }: Session, directory: string, o: Wanted) {
  const target = resolve(directory);
  const { withKey = false, allowMissing = false } = o;
  const storage = o.blobs ? await openStorage(config) : undefined;
  const copy = (progress: Progress) =>
    backup({
      target,
      connection: database.direct,
      areas,
      dataDir: config.data,
      release: version,
      ...(storage ? { storage: config.storage ? withSegments(storage, config.data) : storage } : {}),
      withKey,
      allowMissing,
      warn: (sentence) => tell(sentence),
      progress,
    });
  const made = await withProgress(copy).finally(() => storage?.close());
  await db.write((tx) => audit(tx, operator(installation), 'installation.backup', { id: target }, { rows: rowsIn(made), key: withKey }));

  if (o.json) return printJson({ directory: target, ...summary(made) });
  const { rows, tables, objects, missing, size } = summary(made);
  const holds = `${target} holds ${rows} rows of ${tables} tables and ${objects ?? 'no'} objects, ${bytes(size)}, as of ${made.createdAt}`;
  console.log(forTerminal(`${holds}; all of it was read back`, process.stdout));
  if (missing) tell(`${missing} objects that the database names were not in the storage, and are not in the backup`);
  if (!(await readKeys(keyFile(config.data))))
    tell(`${keyFile(config.data)} is not here, so nothing shows that this backup is as it was made: restoring it takes --unauthenticated`);
  if (withKey) tell('it holds secret.key: anyone with this directory can open every secret in it');
  else tell(`keep a copy of ${keyFile(config.data)} apart from it: without that file its sealed secrets stay closed`);
}

const summary = (made: Manifest) => ({
  createdAt: made.createdAt,
  tables: made.tables.length,
  rows: rowsIn(made),
  objects: made.blobs?.count ?? null,
  missing: made.blobs?.missing ?? 0,
  size: made.tables.reduce((sum, table) => sum + table.bytes, 0) + (made.blobs?.total ?? 0),
  key: made.key !== null,
});
