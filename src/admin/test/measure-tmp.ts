import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { areas } from '../../areas/index.ts';
import { openDb } from '../../kernel/db.ts';
import { migrate, readMigrations } from '../../kernel/migrate.ts';
import { keepPostgres } from '../../kernel/postgres/index.ts';
import { openRing } from '../../kernel/secrets.ts';
import { fileStorage } from '../../kernel/storage/index.ts';
import { migrationsOf } from '../../serve.ts';
import { backup } from '../backup/backup.ts';
import { prepare, restore } from '../restore/restore.ts';

const dir = await mkdtemp(join(tmpdir(), 'qdm-'));
const a = await keepPostgres({ dataDir: join(dir, 'a') });
const b = await keepPostgres({ dataDir: join(dir, 'b') });
const all = await readMigrations(migrationsOf(areas));
await migrate(a.connection, all);
await mkdir(join(dir, 'k'));
const db = openDb({ connection: a.connection });
await db.write((tx) => openRing(tx, join(dir, 'k')));
await db.end();
const { sqlOn } = await import('./support.ts');
await sqlOn(
  a.connection,
  `insert into kernel.audit (id, org_id, at, actor, actor_label, action, target, detail) select kernel.new_id('aud'), 'o', kernel.now(), 'operator', 'operator', 'test.filler', n::text, jsonb_build_object('text', repeat('x', 900)) from generate_series(1, 200000) n`,
);
let t = performance.now();
const m = await backup({
  target: join(dir, 'backup'),
  connection: a.connection,
  areas,
  dataDir: join(dir, 'k'),
  release: 'x',
  withKey: true,
});
console.log(
  'backup',
  m.tables.reduce((s, x) => s + x.bytes, 0) / 1e6,
  'MB',
  (performance.now() - t) / 1000,
  's',
  process.memoryUsage().rss / 1e6,
);
t = performance.now();
const p = await prepare(join(dir, 'backup'), join(dir, 'n'), all);
console.log('verify', (performance.now() - t) / 1000);
t = performance.now();
await restore(p, {
  database: { connection: b.connection, direct: b.connection, embedded: true, stop: async () => {} },
  storage: await fileStorage(join(dir, 'n/blobs')),
  dataDir: join(dir, 'n'),
  areas,
  migrations: all,
});
console.log('restore', (performance.now() - t) / 1000, process.memoryUsage().rss / 1e6);
await a.stop();
await b.stop();
await rm(dir, { recursive: true });
