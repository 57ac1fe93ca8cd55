import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { Compile } from 'typebox/schema';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import type { App } from '../../../../kernel/app.ts';
import { type Connection, openDb } from '../../../../kernel/db/index.ts';
import { migrate, readMigrations } from '../../../../kernel/migrate.ts';
import { openRing, seal as sealWith } from '../../../../kernel/secrets.ts';
import { Assignment } from '../../../../protocols/agent.ts';
import { migrationsOf } from '../../../../serve.ts';
import { areas } from '../../../index.ts';
import { makeOrganization } from '../../../organization/engine/organization.ts';
import { sealTargets } from '../../tasks.ts';
import { desk, httpMonitor, made, tcpMonitor } from '../agent-context.ts';
import { everythingStored, wordsIn } from '../secrets-support.ts';
import { agent, eventually } from '../support.ts';

const whole = {
  url: 'https://shop.example/health?token=qu3ry-s3cret',
  method: 'GET',
  headers: { Authorization: 'Bearer he4der-s3cret' },
  followRedirects: true,
  expectStatus: ['2xx'],
  expectBodyContains: 'exp3cted-s3cret',
};
const words = ['qu3ry-s3cret', 'he4der-s3cret', 'exp3cted-s3cret'];

async function sql(connection: Connection, text: string, values: unknown[] = []) {
  const client = new pg.Client(connection);
  await client.connect();
  return (await client.query(text, values).finally(() => client.end())).rows;
}

const seal = (app: App) => sealTargets.run({ app, signal: new AbortController().signal, log: app.log }, undefined);

/** As the release before wrote them: their targets in the clear, and nothing about a seal. Every tenth is deleted. */
const insert = (connection: Connection, count: number) =>
  sql(
    connection,
    `with m as (
       insert into uptime.monitor (org_id, id, name, enabled, kind, target, interval_seconds, timeout_ms, vantages, confirmations, quorum, revision,
                                   created_at, updated_at, deleted_at)
       select o.id, kernel.new_id('mon'), 'monitor ' || n, true, 'http', $1, 60, 10000, '{fra}', 2, 1, nextval('uptime.revision'), kernel.now(),
              kernel.now(), case when n % 10 = 0 then kernel.now() end
         from identity.org o, generate_series(1, $2::int) n returning *)
     insert into uptime.monitor_state (org_id, monitor_id, state, since, began_at) select org_id, id, 'pending', created_at, created_at from m`,
    [JSON.stringify(whole), count],
  );

/** A database, and the key that belongs to it, as the release before left them. */
async function before(t: TestContext, last = 'uptime/0001_uptime') {
  const { connection, drop } = await freshDatabase({ empty: true });
  const dataDir = await mkdtemp(join(tmpdir(), 'qdd-'));
  t.after(async () => {
    await drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const migrations = readMigrations(migrationsOf(areas));
  const known = migrations.map((m) => m.id).filter((id) => !id.startsWith('uptime/') || id <= last);
  await migrate(connection, migrations, new Set(known));
  const db = openDb({ connection });
  const ring = await db.write(async (tx) => {
    await makeOrganization(tx, { slug: 'default', name: 'Default', ownerEmail: 'owner@default.example', entitlements: ['uptime'] });
    return openRing(tx, dataDir);
  });
  await db.end();
  return { connection, dataDir, ring };
}

test('what an earlier release stored is sealed when this one starts, and checked as before', async (t) => {
  const { connection, dataDir } = await before(t);
  await insert(connection, 450);
  await sql(
    connection,
    `insert into kernel.idempotency (principal, route, key, body_hash, status, answer, created_at)
     values ('tok', 'POST /api/v1/uptime/monitors', 'k', '', 201, $1, kernel.now())`,
    [JSON.stringify({ body: { http: whole } })],
  );
  const revisions = () => sql(connection, 'select id, revision, epoch, updated_at from uptime.monitor order by id');
  const stood = await revisions();
  assert.deepEqual(wordsIn(await everythingStored(connection), words), words);

  // Two servers at once.
  const [qd] = await Promise.all([desk(t, { connection, dataDir }), desk(t, { connection, dataDir })]);
  const { owner, narrowed } = qd;
  const fra = await agent(qd, 'fra');
  const reader = await narrowed(owner, [{ role: 'uptime.viewer' }]);
  const look = async () => {
    const { assignments } = (await fra.assignments()).body;
    assert.equal(assignments.length, 405);
    for (const { target } of assignments) assert.deepEqual(target, whole);
    const { monitors } = await made(reader.get('/uptime/monitors'));
    assert.deepEqual(wordsIn(JSON.stringify(monitors), words), []);
    const shown = (await made(owner.get('/uptime/monitors'))).monitors[0].http;
    assert.deepEqual([shown.url, shown.headers], ['https://shop.example/health?token=***', { Authorization: '***' }]);
  };
  await look();
  await eventually(async () => (await sql(connection, 'select from uptime.monitor where sealed is null')).length === 0);
  await look();
  assert.deepEqual(wordsIn(await everythingStored(connection), words), []);
  assert.deepEqual(await revisions(), stood, 'the monitors are what they were');
});

test('what a server of an earlier release writes beside us holds, and is sealed too', async (t) => {
  const qd = await desk(t);
  const { owner, connection, app } = qd;
  const fra = await agent(qd, 'fra');
  const { id } = await made(
    owner.post('/uptime/monitors', {
      name: 'front',
      kind: 'http',
      intervalSeconds: 60,
      vantages: ['fra'],
      http: { ...whole, url: 'https://shop.example/?token=0ld-s3cret' },
    }),
  );
  const target = async () => (await fra.assignments()).body.assignments.find((a) => a.id === id)?.target;
  const { sealed } = (await sql(connection, 'select sealed from uptime.monitor'))[0];
  const sealAnew = async () => {
    await seal(app);
    return (await sql(connection, 'select sealed from uptime.monitor'))[0].sealed as Buffer;
  };

  // It renames the monitor, and writes the target that it read.
  await sql(connection, `update uptime.monitor set name = 'door', target = target || '{}'`);
  assert.deepEqual(await sealAnew(), sealed);
  // It points it elsewhere.
  await sql(connection, 'update uptime.monitor set target = $1', [JSON.stringify(whole)]);
  assert.deepEqual(await target(), whole);
  assert.notDeepEqual(await sealAnew(), sealed);
  assert.deepEqual(await target(), whole);
  assert.deepEqual(wordsIn(await everythingStored(connection), [...words, '0ld-s3cret']), []);
});

test('probers of an earlier release, handed what the table shows, leave monitors alone instead of checking half of them', async (t) => {
  const qd = await desk(t);
  const fra = await agent(qd, 'fra');
  await made(qd.owner.post('/uptime/monitors', httpMonitor({ vantages: ['fra'] })));
  const tcp = { host: 'db.example', port: 1, expectPrefixBase64: 'K09L' };
  await made(qd.owner.post('/uptime/monitors', tcpMonitor({ vantages: ['fra'], tcp })));
  const understood = Compile(Assignment);
  const { assignments } = (await fra.assignments()).body;
  assert.equal(assignments.length, 2);
  for (const assignment of assignments) {
    const [{ target }] = await sql(qd.connection, 'select target from uptime.monitor where id = $1', [assignment.id]);
    assert.ok(understood.Check(assignment) && !understood.Check({ ...assignment, target }), assignment.kind);
  }
});

test('a monitor that a server of an earlier release deletes keeps no secret', async (t) => {
  const { owner, connection, app } = await desk(t);
  const sealed = async () => (await sql(connection, 'select sealed from uptime.monitor'))[0].sealed as Buffer | null;
  await made(owner.post('/uptime/monitors', httpMonitor({ http: whole })));
  await sql(connection, `update uptime.monitor set deleted_at = kernel.now(), revision = nextval('uptime.revision')`);
  assert.equal(await sealed(), null);
  await seal(app);
  const [{ id }] = await sql(connection, 'select id from uptime.monitor');
  const left = app.secrets.unseal((await sealed())!, `uptime.monitor.sealed.${id}`);
  assert.deepEqual(wordsIn(left, words), []);
});

test('what was sealed before is kept from probers of an earlier release too, and what was deleted before keeps no secret', async (t) => {
  const { connection, dataDir, ring } = await before(t, 'uptime/0002_sealed_targets');
  await insert(connection, 10);
  const tcp = { host: 'db.example', port: 1, tls: false };
  const kept = { ...tcp, sendBase64: 'QVVUSA==' };
  for (const [i, { id, deleted_at }] of (await sql(connection, 'select id, deleted_at from uptime.monitor order by no')).entries()) {
    const isTcp = i === 0 && deleted_at === null;
    await sql(connection, 'update uptime.monitor set kind = $2, target = $3, sealed = $4 where id = $1', [
      id,
      isTcp ? 'tcp' : 'http',
      JSON.stringify(isTcp ? tcp : { ...whole, url: 'https://shop.example/health', headers: [], expectBodyContains: undefined }),
      sealWith(ring, JSON.stringify(isTcp ? kept : whole), `uptime.monitor.sealed.${id}`),
    ]);
  }
  const qd = await desk(t, { connection, dataDir });
  const { assignments } = (await (await agent(qd, 'fra')).assignments()).body;
  assert.deepEqual([assignments.length, assignments.find((a) => a.kind === 'tcp')?.target], [9, kept]);
  const [{ target }] = await sql(connection, `select target from uptime.monitor where kind = 'tcp'`);
  assert.deepEqual(target, { ...tcp, sendBase64: [] });
  await seal(qd.app);
  const [gone] = await sql(connection, 'select id, sealed from uptime.monitor where deleted_at is not null');
  assert.deepEqual(wordsIn(qd.app.secrets.unseal(gone.sealed, `uptime.monitor.sealed.${gone.id}`), words), []);
});
