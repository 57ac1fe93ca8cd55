import { join } from 'node:path';
import type { App } from '../../../kernel/app.ts';
import { requireRoom, whileRoom } from '../../../kernel/data/disk-room.ts';
import type { Connection } from '../../../kernel/db/index.ts';
import { ClusterError } from '../../cluster-error.ts';
import type { PlaneOptions, StoreSnapshot } from '../../driver.ts';
import { bytesOf, columnsOf } from '../rules/copy-text.ts';
import { loginOf, verifierOf } from '../rules/database-login.ts';
import { hasKine, makeRole, makeSchema, revokeAdvisoryLocks, schemaOf } from '../store/kine.ts';
import { loadCopy, newestRevision, openCopy, readObjects } from '../store/kine-copy.ts';
import { isOwnDatabase } from './database-url.ts';

// A kine store as a whole: made, copied at one moment, made of a copy, and read for a store of another kind.

/** As the schema's role, where it has one: the role can put a view with a function in the place of its table, which would run with our rights. */
const connectionOf = (app: App, schema: string, storeKey: string): Connection =>
  isOwnDatabase(app) ? { ...app.connection, ...loginOf(schema, storeKey) } : app.connection;

/** The schema of the wanted generation, and the role that may use it. A later generation is filled first, whole or not at all. */
export async function ensureKineStore(
  app: App,
  { cluster, storeOrigin }: Pick<PlaneOptions, 'cluster' | 'storeOrigin'>,
  storeKey: string,
  signal: AbortSignal,
): Promise<void> {
  const { id, store_generation: generation } = cluster();
  const schema = schemaOf(id, generation);
  if (generation > 1 && !(await app.db.read((tx) => hasKine(tx, schema))))
    await fillGeneration(app, schema, generation, { storeOrigin, signal });
  await openKineStore(app, schema, storeKey);
}

interface Filling extends Pick<PlaneOptions, 'storeOrigin'> {
  signal: AbortSignal;
}

async function fillGeneration(app: App, schema: string, generation: number, { storeOrigin, signal }: Filling): Promise<void> {
  const origin = await storeOrigin?.(generation);
  if (!origin) throw new ClusterError('the data of its store is gone; the operator restores a backup: quarterdeck admin clusters restore');
  const content = await origin.read();
  if (content.kind !== 'rows') throw new Error('a kine store is made of rows');
  await loadCopy(app.connection, schema, { content: await whileDatabaseHasRoom(app, content), revision: content.revision, signal });
}

interface Rows {
  bytes: number | undefined;
  content: AsyncIterable<Uint8Array>;
}

/** Rows and PostgreSQL's log take about as much as the copy, which has values in hexadecimal. The disk of an external database is not seen here. */
export async function whileDatabaseHasRoom(app: App, { bytes, content }: Rows): Promise<AsyncIterable<Uint8Array>> {
  if (!isOwnDatabase(app)) return content;
  const dir = join(app.config.data, 'postgres');
  if (bytes !== undefined) await requireRoom(dir, bytes);
  return whileRoom(dir, content);
}

/** Creates a schema in our database, and the role that may use it, where they are not there. */
export const openKineStore = (app: App, schema: string, storeKey: string): Promise<void> =>
  app.db.write(async (tx) => {
    await makeSchema(tx, schema);
    if (!isOwnDatabase(app)) return;
    await revokeAdvisoryLocks(tx);
    await makeRole(tx, schema, verifierOf(loginOf(schema, storeKey)));
  });

export async function snapshotKine(app: App, { cluster, pki }: Pick<PlaneOptions, 'cluster' | 'pki'>): Promise<StoreSnapshot> {
  const { id, store_generation } = cluster();
  const schema = schemaOf(id, store_generation);
  const { revision, objects, content } = await openCopy(connectionOf(app, schema, pki.inner!.storeKey), schema);
  return { kind: 'kine', revision, objects, content };
}

/** The objects of a store that is not written to meanwhile. */
export async function openKineKeys(app: App, { cluster, generation, storeKey }: { cluster: string; generation: number; storeKey: string }) {
  const schema = schemaOf(cluster, generation);
  const connection = connectionOf(app, schema, storeKey);
  return { revision: await newestRevision(connection, schema), keys: readObjects(connection, schema) };
}

/** The longest line of a copy: an object of a few MiB in hexadecimal. More is no copy of ours. */
const maxLineBytes = 64 * 2 ** 20;

async function* linesOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, end)]).toString();
      parts = [];
      bytes = 0;
      from = end + 1;
    }
    parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > maxLineBytes) throw new Error('a line of the copy is too long');
  }
}

/** A copy of a kine store as the objects in it, for an etcd. Events are left out: they expire soon. */
export async function* keysOfRows(content: AsyncIterable<Uint8Array>): AsyncGenerator<{ key: Buffer; value: Buffer }> {
  for await (const line of linesOf(content)) {
    const [, name, , , , , value = null] = columnsOf(line);
    if (name?.startsWith('/registry/') && !name.startsWith('/registry/events/')) yield { key: Buffer.from(name), value: bytesOf(value) };
  }
}
