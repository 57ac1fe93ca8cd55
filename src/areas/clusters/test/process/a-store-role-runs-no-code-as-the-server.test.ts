import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { measureStore } from '../../../../drivers/process/engine/store-size.ts';
import { loginOf } from '../../../../drivers/process/rules/database-login.ts';
import { dropBatch, dropSchemas, findOrphanedStores, schemaOf } from '../../../../drivers/process/store/kine.ts';
import { row } from '../../../../kernel/db/index.ts';
import { findPki } from '../../engine/pki.ts';
import { clusterByName } from '../../store/clusters.ts';
import { readyCluster } from '../support.ts';
import { withPrograms } from './support.ts';

/** A cluster, and somebody who has the password of its role. */
async function withThief(t: TestContext) {
  const qd = await withPrograms(t);
  await readyCluster(qd.owner, { name: 'prod' });
  const cluster = (await qd.app.db.read((tx) => clusterByName(tx, qd.owner.orgId, 'prod')))!;
  const pki = (await qd.app.db.read((tx) => findPki(tx, qd.app, cluster.id)))!;
  const name = schemaOf(cluster.id);
  const login = loginOf(name, pki.inner!.storeKey);
  /** For as long as a part of the test takes. */
  const open = async (part: TestContext) => {
    const client = new pg.Client({ ...qd.connection, ...login });
    client.on('error', () => {}); // its session is ended by the server
    await client.connect();
    part.after(() => client.end().catch(() => {}));
    return client;
  };
  const weigh = (after?: number) => measureStore(qd.app, { cluster: () => cluster, pki }, after);
  const isSuper = async () =>
    (
      await qd.app.db.read(
        (tx) => row(tx, Type.Object({ yes: Type.Boolean() }))`select rolsuper as yes from pg_roles where rolname = ${name}`,
      )
    )?.yes;
  return { ...qd, name, open, weigh, isSuper };
}

/** Takes whatever rights the one who asks has, or can have again. */
const grab = (name: string) => `
  create function ${name}.grab() returns boolean language plpgsql as $f$ begin
    begin execute 'reset role'; exception when others then null; end;
    begin execute 'reset session authorization'; exception when others then null; end;
    begin execute 'alter role ${name} superuser'; exception when others then null; end;
    return true;
  end $f$;`;

test('a store’s role cannot run code as the server', async (t) => {
  const { owner, app, name, open, weigh, isSuper } = await withThief(t);

  await t.test('objects besides the table count, and so does a table that is hidden by another object', async (part) => {
    const before = await weigh();
    const thief = await open(part);
    await thief.query(`create table ${name}.more as select repeat(md5(i::text), 30) as t from generate_series(1, 4000) i`);
    const more = await weigh();
    assert.ok(more.bytes > before.bytes + 2_000_000, `${more.bytes} after ${before.bytes}`);
    await thief.query(`select lo_from_bytea(0, decode(repeat('ab', 1000000), 'hex'))`);
    assert.ok((await weigh()).bytes >= more.bytes + 900_000);
    await thief.query(
      `drop table ${name}.more; alter table ${name}.kine rename to kept; create view ${name}.kine as select * from ${name}.kept limit 0`,
    );
    assert.ok((await weigh()).bytes > 8_192, 'the table itself still counts');
    await thief.query(`drop view ${name}.kine; alter table ${name}.kept rename to kine`);
  });

  await t.test('a replacement of the cluster’s table runs with the rights of its role alone', async (part) => {
    const thief = await open(part);
    await thief.query(`${grab(name)}
      alter table ${name}.kine rename to kept;
      create view ${name}.kine as select * from ${name}.kept where ${name}.grab()`);
    for (const after of [undefined, 0, 1]) {
      await weigh(after).catch(() => {}); // a lie is not believed, and may be refused
      assert.equal(await isSuper(), false, 'the role has not become what the server is');
    }
    // An index whose condition the session evaluates that plans a statement on the table.
    await thief.query(`drop view ${name}.kine; alter table ${name}.kept rename to kine;
      create function ${name}.sly(int) returns boolean immutable language plpgsql as $f$ begin return ${name}.grab(); end $f$;
      create index sly on ${name}.kine (id) where ${name}.sly(1)`);
    for (const after of [undefined, 1]) {
      await weigh(after);
      assert.equal(await isSuper(), false);
    }
  });

  await t.test('a role’s connections and temporary files are limited, and it cannot raise the limits', async (part) => {
    const first = await open(part);
    const { rows } = await first.query(
      `select rolconnlimit as most, current_setting('temp_file_limit') as room from pg_roles where rolname = current_user`,
    );
    assert.deepEqual(rows, [{ most: 8, room: '256MB' }]);
    for (const more of [
      'alter role current_user connection limit -1',
      'set temp_file_limit = -1',
      'alter role current_user reset temp_file_limit',
    ])
      await assert.rejects(first.query(more), /permission denied/, more);
    await assert.rejects(async () => {
      for (let n = 0; n < 8; n++) await open(part);
    }, /too many connections for role/);
  });

  await t.test('deletion drops the role with all that it owns and terminates its sessions', async (part) => {
    const thief = await eventually(() => open(part)); // those of before may not be gone yet
    const ended = new Promise((resolve) => thief.once('end', resolve));
    await thief.query(`select lo_create(0); grant usage on schema ${name} to public`);
    await owner.delete('/clusters/prod');
    await eventually(async () => (await owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
    await ended;
    assert.equal(await isSuper(), undefined, 'there is no such role');
    assert.deepEqual(await app.db.read(findOrphanedStores), []);
  });
});

test('a role that owns too many objects is dropped in batches, and cannot log in meanwhile', async (t) => {
  // No shard: its sweep would do the same meanwhile.
  const { app } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const cluster = `cls_${randomBytes(8).toString('hex')}`;
  const name = schemaOf(cluster);
  const open = async () => {
    const client = new pg.Client({ ...(app.connection as pg.ClientConfig), user: name, password: 'left' });
    client.on('error', () => {}); // its session is ended by the server
    await client.connect();
    t.after(() => client.end().catch(() => {}));
    return client;
  };
  // As a teardown leaves one: the cluster is gone, the role and its objects are there.
  const admin = new pg.Client(app.connection as pg.ClientConfig);
  admin.on('error', () => {}); // its database goes before it
  await admin.connect();
  t.after(() => admin.end().catch(() => {}));
  await admin.query(`create role ${name} login password 'left'; create schema ${name}; grant usage, create on schema ${name} to ${name}`);
  const thief = await open();
  await thief.query(`create table ${name}.a (i int) partition by range (i); create table ${name}.b partition of ${name}.a default;
    create view ${name}.c as select * from ${name}.a; create type ${name}.d as enum ('x'); create function ${name}.e() returns int language sql as 'select 1'`);
  // One after the other in transactions of their own: all together they need more locks than there are.
  for (let n = 0; n < 13; n++) await thief.query('select count(lo_create(0)) from generate_series(1, 1000)');
  assert.match((await app.db.write((tx) => dropSchemas(tx, cluster))) ?? '', /out of shared memory/);
  assert.deepEqual(await app.db.read(findOrphanedStores), [name]);
  let portions = 0;
  for (let why: string | undefined = 'it has not begun'; why !== undefined; portions++) {
    why = await app.db.write((tx) => dropBatch(tx, name));
    await assert.rejects(open(), /not permitted to log in|does not exist/);
    assert.ok(portions < 30, String(why));
  }
  assert.ok(portions > 1);
  const { rowCount } = await admin.query('select from pg_roles where rolname = $1', [name]);
  assert.equal(rowCount, 0);
});
