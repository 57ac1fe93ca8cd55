// Makes the small backup of this release that later releases must restore: node test/data/backups/make.ts <release>
// Everything in it is made up and its key is published with it: test data, never to be used. Only what has settled is in it: the
// schemas below; an area joins the list with the release that brings it.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { backup } from '../../../src/admin/backup/backup.ts';
import { areas } from '../../../src/areas/index.ts';
import { makeOrganization } from '../../../src/areas/organization/engine/organization.ts';
import { insertToken } from '../../../src/areas/tokens/store/tokens.ts';
import { openDb, run } from '../../../src/kernel/db/index.ts';
import { migrate, readMigrations } from '../../../src/kernel/migrate.ts';
import { keepPostgres } from '../../../src/kernel/postgres/index.ts';
import { keyFile, openRing, writeKeys } from '../../../src/kernel/secrets.ts';
import { fileStorage } from '../../../src/kernel/storage/index.ts';
import { migrationsOf } from '../../../src/serve.ts';

const settled = ['services'];

const release = process.argv[2];
if (!release) throw new Error('say which release, such as 0.1');
const directory = await mkdtemp(join(tmpdir(), 'qdb-'));
const server = await keepPostgres({ dataDir: join(directory, 'postgres'), settings: { fsync: 'off' } });
try {
  const dataDir = join(directory, 'data');
  await mkdir(dataDir);
  // Thirty-two times the letter T: a key that nobody can mistake for a real one.
  await writeKeys(keyFile(dataDir), { keys: [{ id: 'testonly', key: Buffer.alloc(32, 'T') }] });
  const kept = areas.filter((area) => !area.migrations || settled.includes(area.migrations.schema));
  await migrate(server.connection, readMigrations(migrationsOf(kept)));
  const db = openDb({ connection: server.connection });
  await db.write(async (tx) => {
    await openRing(tx, dataDir);
    const { id: org, ownerId: user } = await makeOrganization(tx, {
      slug: 'default',
      name: 'Default',
      ownerEmail: 'owner@quarterdeck.test',
      entitlements: ['email', 'uptime'],
    });
    await insertToken(tx, {
      org,
      user,
      name: 'test data',
      start: 'qd_pat_none',
      hash: Buffer.alloc(32, 'T'),
      scope: [],
      ceilings: [],
      expiresIn: 86_400,
    });
    await run(
      tx,
    )`insert into identity.custom_role (org_id, id, name, description, permissions, created_at) values (${org}, kernel.new_id('rol'), 'Reader', 'tab	and backslash \\ ☃', '{uptime.monitor.read}', kernel.now())`;
    await run(
      tx,
    )`insert into services.service (org_id, id, name, created_at) values (${org}, kernel.new_id('svc'), 'checkout', kernel.now())`;
    await run(tx)`insert into kernel.job (lane, kind, key, payload, org_id, run_at, lease, lease_until, created_at)
                  values ('default', 'test.data', 'held', '{"n": 1}', ${org}, kernel.now(), gen_random_uuid(), kernel.now() + interval '30 seconds', kernel.now())`;
  });
  await db.end();
  const storage = await fileStorage(join(directory, 'blobs'));
  await storage.put('test/ab/object', Buffer.from('a stored object\n'));
  const object = {
    name: 'objects',
    operations: [],
    stored: async function* () {
      yield 'test/ab/object';
    },
  };
  const target = fileURLToPath(new URL(release, import.meta.url));
  await backup({ target, connection: server.connection, areas: [...kept, object], dataDir, release, storage, withKey: true });
  console.log(`made ${target}`);
} finally {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
