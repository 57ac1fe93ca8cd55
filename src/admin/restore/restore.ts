import { createReadStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import type { AnyArea } from '../../areas/area.ts';
import type { Database } from '../../boot/database.ts';
import { clearUnfinished, markUnfinished } from '../../kernel/backup/unfinished-restore.ts';
import { openDb } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { type Migration, migrate, migrationLock } from '../../kernel/migrate.ts';
import { adoptStorageId, markForRestore } from '../../kernel/storage/canary.ts';
import type { Storage } from '../../kernel/storage/index.ts';
import { migrationsOf } from '../../serve.ts';
import { connectFor } from '../backup/connection.ts';
import { blobFile, type Manifest, readManifest, tableFile } from '../backup/manifest.ts';
import { blobsIn, verifyBackup } from '../backup/verify.ts';
import { noProgress, type Progress } from '../progress.ts';
import { appliedMigrations } from '../release.ts';
import { copyIn, makeForeignSchemas } from './copy-in.ts';
import { findBackupKey, requireMark } from './key.ts';
import { requireEmpty, requireKnown } from './target.ts';

export interface Prepared {
  manifest: Manifest;
  directory: string;
  placeKey(): Promise<void>;
}

/** Reads the whole backup and refuses what cannot be restored here, before a database is opened or made. */
export async function prepare(
  directory: string,
  dataDir: string,
  migrations: Migration[],
  { unauthenticated = false, progress }: { unauthenticated?: boolean | undefined; progress?: Progress } = {},
): Promise<Prepared> {
  const manifest = await readManifest(directory);
  await verifyBackup(directory, manifest, progress);
  requireKnown(manifest, migrations);
  const key = await findBackupKey(directory, manifest, dataDir);
  if (!unauthenticated) await requireMark(directory, key.ring);
  return { manifest, directory, placeKey: key.place };
}

export interface Target {
  database: Database;
  storage: Storage;
  dataDir: string;
  areas: readonly AnyArea[];
  migrations: Migration[];
  progress?: Progress;
  /** Called once the rows are there: from then on a start finds everything. */
  onCommitted?: () => void;
}

export interface Restored {
  /** What this release added to what the backup had. */
  migrated: string[];
  /** Waiting or dead at the moment of the backup; those that are due run at the next start. */
  jobs: number;
}

/**
 * Objects and the key before the rows: a kill at any moment leaves a database that a second try finds empty and no server starts from, or one
 * that is whole.
 */
export async function restore({ manifest, directory, placeKey }: Prepared, target: Target): Promise<Restored> {
  const { database, storage, areas, migrations, progress = noProgress } = target;
  const schemas = migrationsOf(areas).map((m) => m.schema);
  const ids = new Set(manifest.migrations.map((m) => m.id));
  const client = await connectFor('restore', database.direct);
  try {
    await requireEmpty(client, schemas, manifest, areas);
    progress.begin('making the tables');
    await migrate(database.direct, migrations, ids);
    await inTurn(client, async () => {
      await requireEmpty(client, schemas, manifest, areas);
      await markUnfinished(client);
    });
    const mark = await storageIdIn(directory, manifest);
    if (mark !== undefined) await markForRestore(storage, mark);
    if (manifest.blobs) {
      progress.begin('putting objects back', manifest.blobs.total);
      await putBlobs(storage, directory, progress);
    }
    await mkdir(target.dataDir, { recursive: true });
    await placeKey();

    await inTurn(client, async () => {
      await requireEmpty(client, schemas, manifest, areas);
      if ((await appliedMigrations(client)).size !== ids.size)
        throw new Stop(exitCodes.refused, 'another program is migrating this database; stop it and restore again');
      await clearUnfinished(client);
      const guests = await makeForeignSchemas(client, areas, manifest);
      progress.begin(
        'putting rows back',
        manifest.tables.reduce((sum, { bytes }) => sum + bytes, 0),
      );
      await copyIn(client, { own: schemas, guests }, manifest, directory, progress);
      await holdBack(client, manifest);
    }).catch(async (error) => {
      // A server that was starting already when the mark was made has an organization by now: it must start again tomorrow.
      const why = await requireEmpty(client, schemas, manifest, areas).catch((reason: unknown) => reason);
      if (why instanceof Stop) await clearUnfinished(client);
      throw error;
    });
    target.onCommitted?.();
    progress.begin('analyzing tables');
    await client.query('analyze');
    const { rows } = await client.query<{ jobs: number }>('select count(*) as jobs from kernel.job');
    progress.begin('migrating to this release');
    const migrated = await migrate(database.direct, migrations);
    if (mark === undefined) await takeOver(database, storage);
    return { migrated, jobs: rows[0]!.jobs };
  } finally {
    await client.end().catch(() => {});
  }
}

/** One transaction under the migration lock: a server that starts meanwhile waits to migrate. */
async function inTurn(client: pg.Client, act: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1)', [migrationLock]);
    await act();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

async function takeOver(database: Database, storage: Storage): Promise<void> {
  const db = openDb({ connection: database.connection, max: 1 });
  await adoptStorageId(db, storage).finally(() => db.end());
}

/** The id by which a start knows its storage; undefined in backups of releases that had none. */
async function storageIdIn(directory: string, manifest: Manifest): Promise<string | undefined> {
  const table = manifest.tables.find((t) => t.schema === 'kernel' && t.name === 'storage_canary');
  if (!table?.rows) return undefined;
  const fields = (await readFile(join(directory, tableFile(table)), 'utf8')).trimEnd().split('\t');
  return fields[table.columns.indexOf('id')];
}

/** With the rows or not at all: nothing of a backup leaves before the operator says so. The same table as kernel's migration makes. */
async function holdBack(client: pg.Client, { createdAt }: Manifest): Promise<void> {
  await client.query(
    `create table if not exists kernel.restore_hold (
       one boolean primary key default true check (one), restored_at timestamptz(3) not null, backup_at timestamptz(3) not null)`,
  );
  await client.query(
    `insert into kernel.restore_hold (restored_at, backup_at) values (kernel.now(), $1)
         on conflict (one) do update set restored_at = excluded.restored_at, backup_at = excluded.backup_at`,
    [createdAt],
  );
}

/** Under their keys again; one that is there already is replaced by the same bytes. */
async function putBlobs(storage: Storage, directory: string, progress: Progress): Promise<void> {
  for await (const { key, sha256, bytes } of blobsIn(directory)) {
    await storage.put(key, createReadStream(join(directory, blobFile(key)), { highWaterMark: 1024 * 1024 }), {
      digest: `sha256:${sha256}`,
    });
    progress.add(bytes);
  }
}
