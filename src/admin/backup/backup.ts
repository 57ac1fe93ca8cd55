import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import type { AnyArea } from '../../areas/area.ts';
import { backupLock } from '../../kernel/backup/backup-lock.ts';
import type { Connection } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { authenticate, type KeyRing, keyFile, readKeys } from '../../kernel/secrets.ts';
import type { Storage } from '../../kernel/storage/index.ts';
import { migrationsOf } from '../../serve.ts';
import { noProgress, type Progress } from '../progress.ts';
import { appliedMigrations } from '../release.ts';
import { findForeignTables, quoted, sequencesOf, type Table, tablesOf } from './catalog.ts';
import { connectFor } from './connection.ts';
import { copyBlobs, listBlobs } from './copy-blobs.ts';
import { copyTables } from './copy-tables.ts';
import { makeDirectory, writeHashed, writeSmall } from './files.ts';
import { checksumFile, checksumOf, format, keyCopy, type Manifest, manifestFile, markFile, markPurpose, readManifest } from './manifest.ts';
import { verifyBackup } from './verify.ts';

export interface BackupOptions {
  /** A directory that does not exist yet. */
  target: string;
  /** Not through a transaction pooler: locks and the snapshot belong to a session. */
  connection: Connection;
  areas: readonly AnyArea[];
  dataDir: string;
  release: string;
  /** Absent: the objects are left out. */
  storage?: Storage;
  withKey?: boolean;
  allowMissing?: boolean;
  /** Told of what is not in it, and need not keep it from being made. */
  warn?: (sentence: string) => void;
  progress?: Progress;
}

/** Online: the servers go on, and the backup shows the moment of its snapshot. */
export const backup = (options: BackupOptions): Promise<Manifest> =>
  makeDirectory(options.target, async (directory) => {
    const client = await connectFor('backup', options.connection);
    try {
      // Before the snapshot: what it names cannot be removed from the storage from now on until we have copied it.
      await client.query('select pg_advisory_lock_shared($1)', [backupLock]).catch(busy('something is being removed from the storage'));
      const rows = await copyRows(client, options, directory);
      const { storage, allowMissing = false, progress = noProgress } = options;
      const manifest: Manifest = {
        product: 'quarterdeck',
        format,
        release: options.release,
        ...rows,
        blobs: storage ? await copyBlobs(storage, directory, { allowMissing, progress }) : null,
        key: options.withKey ? await copyKey(options.dataDir, directory) : null,
      };
      await client.query('select 1'); // with the connection the lock would have gone, and perhaps an object with it
      await seal(directory, manifest, await readKeys(keyFile(options.dataDir)), progress);
      return manifest;
    } finally {
      await client.end().catch(() => {});
    }
  });

async function copyRows(client: pg.Client, options: BackupOptions, directory: string) {
  const { connection, areas, storage, warn = () => {}, progress = noProgress } = options;
  await client.query('begin isolation level repeatable read read only');
  const { rows } = await client.query<{ snapshot: string; postgres: string; at: string }>(
    `select pg_export_snapshot() as snapshot, current_setting('server_version') as postgres, kernel.now() as at`,
  );
  const { snapshot, postgres, at } = rows[0]!;
  const schemas = migrationsOf(areas).map((m) => m.schema);
  const guests = await findForeignTables(client, areas);
  if (guests.odd.length > 0) warn(sayOdd(guests.odd));
  const tables = await tablesOf(client, schemas, guests.tables);
  const migrations = [...(await appliedMigrations(client))].map(([id, checksum]) => ({ id, checksum }));
  await lockShape(client, connection, tables, migrations.length);
  const copied = await copyTables(connection, snapshot, tables, directory, progress);
  const sequences = await sequencesOf(client, schemas, guests.tables);
  if (storage) await listBlobs(client, areas, directory);
  await client.query('commit');
  return { postgres, createdAt: at, migrations, tables: copied, sequences };
}

const sayOdd = (odd: readonly string[]): string =>
  `${odd.slice(0, 10).join(', ')}${odd.length > 10 ? ` and ${odd.length - 10} more` : ''} in the schemas of clusters are nothing that a cluster’s store makes, and are not in the backup; look at who has the cluster`;

/** A migration must not change a table between the snapshot and its COPY: from here on it waits, and before here it is noticed. */
async function lockShape(client: pg.Client, connection: Connection, tables: Table[], known: number) {
  await client
    .query(`lock table ${tables.map(quoted).join(', ')} in access share mode`)
    .catch(goneMeanwhile)
    .catch(busy('the database is being migrated'));
  const now = await connectFor('backup', connection);
  const applied = await appliedMigrations(now).finally(() => now.end());
  if (applied.size !== known) throw new Stop(exitCodes.backup, 'a new release migrated the database at this moment; make the backup again');
}

/** Everything that we have stays; only a cluster's own schema goes with it. */
const goneMeanwhile = (error: { code?: string }) => {
  if (error.code !== '42P01' && error.code !== '3F000') throw error;
  throw new Stop(exitCodes.backup, 'a cluster was removed at this moment; make the backup again', { cause: error });
};

const busy = (what: string) => (error: { code?: string }) => {
  if (error.code !== '55P03') throw error;
  throw new Stop(exitCodes.backup, `${what} and does not end; make the backup again in a moment`, { cause: error });
};

async function copyKey(dataDir: string, directory: string) {
  const file = keyFile(dataDir);
  const key = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new Stop(exitCodes.secretKey, `${file} cannot be read (${error.code}); run this where the server runs, or leave --with-key away`);
  });
  const { bytes, sha256 } = await writeHashed(join(directory, keyCopy), [key]);
  return { bytes, sha256 };
}

/** The manifest last; then everything is read again as a restore would. */
async function seal(directory: string, manifest: Manifest, ring: KeyRing | undefined, progress: Progress) {
  const text = `${JSON.stringify(manifest, null, 1)}\n`;
  await writeSmall(join(directory, manifestFile), text);
  await writeSmall(join(directory, checksumFile), checksumOf(text));
  if (ring) await writeSmall(join(directory, markFile), `${authenticate(ring, text, markPurpose)}\n`);
  await verifyBackup(directory, await readManifest(directory), progress);
}
