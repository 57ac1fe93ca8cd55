import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import pg from 'pg';
import Type from 'typebox';
import { eventually, scratch } from '../../../../../test/harness/process.ts';
import { row, run as runStatement } from '../../../../kernel/db/index.ts';
import { Sql } from '../../../../kernel/sql.ts';
import { readyCluster, untilReady } from '../support.ts';
import { clustersAlone, fakeBinaries, killProgram, pidsOf, schemasOf, withOwnPostgres } from './support.ts';

/** As kine is told it: in its environment. */
async function endpointOf(pid: number): Promise<URL> {
  const told = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0').find((each) => each.startsWith('KINE_ENDPOINT='))!;
  return new URL(told.slice('KINE_ENDPOINT='.length));
}

async function askAs({ searchParams, username: user, pathname }: URL, password: string, text: string, database = pathname.slice(1)) {
  const client = new pg.Client({ host: searchParams.get('host')!, user, password, database });
  await client.connect();
  return (await client.query(text).finally(() => client.end())).rows;
}

/** A role and its schema have one name. */
const NamedRow = Type.Object({ owner: Type.String() });

test('a cluster’s store cannot read other tenants’ rows', async (t) => {
  const binaries = await fakeBinaries(t);
  const { dataDir } = await scratch(t, { isMigrated: true });
  const { owner, app, stop } = await withOwnPostgres(t, dataDir, await clustersAlone(binaries));
  for (const name of ['prod', 'test']) await readyCluster(owner, { name });

  await t.test('a cluster’s store logs in as a role with rights on its own schema only', async () => {
    const [one, other] = (await Promise.all((await pidsOf(dataDir, 'kine')).map(endpointOf))) as [URL, URL];
    const ask = (text: string) => askAs(one, one.password, text);
    assert.notEqual(one.username, other.username);
    const [rights] = await ask(
      'select rolsuper or rolcreaterole or rolcreatedb or rolreplication as any from pg_roles where rolname = current_user',
    );
    assert.equal(rights.any, false);
    const [{ many }] = await ask(`select count(*)::int as many from ${one.username}.kine`);
    assert.ok(many > 0);
    for (const table of [`${other.username}.kine`, 'clusters.pki', 'clusters.cluster', 'identity.token'])
      await assert.rejects(ask(`select * from ${table}`), /permission denied/, table);
    await assert.rejects(ask(`set role ${other.username}`), /permission denied/);
    await assert.rejects(askAs(one, other.password, 'select 1'), /password authentication failed/);
    for (const database of ['postgres', 'template1'])
      await assert.rejects(askAs(one, one.password, 'select 1', database), /permission denied for database/, database);
    await assert.rejects(ask('create temporary table big (a int)'), /permission denied to create temporary tables/);
  });

  await t.test('a store of an earlier release is given to its role, and the role is dropped with the cluster', async () => {
    const remove = async (name: string) => {
      await owner.delete(`/clusters/${name}`);
      await eventually(async () => (await owner.get(`/clusters/${name}`)).status === 404, { withinMs: 60_000 });
    };
    await remove('test');
    const [schema, ...others] = await schemasOf(app);
    assert.deepEqual(others, []);
    const ownerOf = async () =>
      (
        await app.db.read(
          (tx) => row(tx, NamedRow)`select tableowner::text as owner from pg_tables where schemaname = ${schema} and tablename = 'kine'`,
        )
      )?.owner;
    assert.equal(await ownerOf(), schema);
    await app.db.write((tx) => runStatement(tx)`${new Sql([`alter table ${schema}.kine owner to current_user`], [])}`);
    assert.notEqual(await ownerOf(), schema);
    await killProgram(dataDir, 'kine');
    await eventually(async () => (await ownerOf()) === schema, { withinMs: 60_000 });
    await untilReady(owner, 'prod');

    await remove('prod');
    assert.equal(
      await app.db.read((tx) => row(tx, NamedRow)`select rolname::text as owner from pg_roles where rolname = ${schema}`),
      undefined,
    );
  });
  await stop();
});
