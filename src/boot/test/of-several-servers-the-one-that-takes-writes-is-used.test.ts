import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { urlOf } from '../../../test/harness/postgres.ts';
import { eventually, scratch } from '../../../test/harness/process.ts';
import { readConfig } from '../../kernel/config.ts';
import { eachHost } from '../../kernel/db/hosts.ts';
import { type Connection, openDb, run } from '../../kernel/db/index.ts';
import { Stop } from '../../kernel/errors.ts';
import { makeLog } from '../../kernel/log.ts';
import { keepPostgres } from '../../kernel/postgres/index.ts';
import { openExternal } from '../external.ts';

const settings = { fsync: 'off', max_connections: '20' };

async function server(t: TestContext) {
  const { dataDir } = await scratch(t, { isMigrated: true });
  const { connection, stop } = await keepPostgres({ dataDir, settings });
  let isOver = false;
  const end = async () => {
    if (!isOver) await stop();
    isOver = true;
  };
  t.after(end);
  const onlyReads = async (yes: boolean) => {
    const client = new pg.Client(connection);
    await client.connect();
    await client.query('set default_transaction_read_only = off');
    await client.query(`alter system set default_transaction_read_only = ${yes}`);
    await client.query('select pg_reload_conf()');
    await client.end();
  };
  return { connection, end, onlyReads };
}

/** One URL with the sockets of both, and the login of the first: they are given the same one. */
const together = (a: Connection, b: Connection) =>
  urlOf(a).replace(
    /\?host=.*/,
    `?host=${encodeURIComponent(`${a.host},${b.host}`)}&port=${a.port ?? 5432},${b.port ?? 5432}&target_session_attrs=read-write`,
  );

test('of two servers the one that takes writes is used, and the other one once it has taken over', async (t) => {
  const [a, b] = [await server(t), await server(t)];
  const client = new pg.Client(b.connection);
  await client.connect();
  await client.query(`alter role "${a.connection.user}" password '${a.connection.password}'`);
  await client.end();
  await a.onlyReads(true);
  const config = readConfig({ QUARTERDECK_DATABASE_URL: together(a.connection, b.connection) }, '/').config;
  const { connection, stop } = await openExternal(config, makeLog('silent'));
  t.after(stop);
  const db = openDb({ connection, max: 2 });
  t.after(() => db.end());
  const write = () => db.write((tx) => run(tx)`create table if not exists proof (id int)`);
  await write();
  const first = String(connection.connectionString);
  assert.match(decodeURIComponent(first), new RegExp(`host=${b.connection.host}`));

  await b.end();
  await a.onlyReads(false);
  await eventually(async () =>
    write().then(
      () => true,
      () => false,
    ),
  );
  assert.notEqual(connection.connectionString, first);

  await a.onlyReads(true);
  await assert.rejects(openExternal(config, makeLog('silent')), (error) => {
    assert.ok(error instanceof Stop);
    assert.match(
      error.message,
      /^none of the 2 servers in QUARTERDECK_DATABASE_URL can be used: at .*, the database .* only reads: .*; at .*cannot be reached/,
    );
    return true;
  });
});

test('a URL of several servers is read as libpq reads it', () => {
  assert.deepEqual(eachHost('postgresql://u:p@a:1,b:2/db?target_session_attrs=read-write&sslmode=require', 'X'), [
    'postgresql://u:p@a:1/db?sslmode=require',
    'postgresql://u:p@b:2/db?sslmode=require',
  ]);
  assert.deepEqual(eachHost('postgres://a,b/db', 'X'), ['postgres://a/db', 'postgres://b/db']);
  assert.deepEqual(eachHost('postgresql://u@/db?host=a,b&port=1', 'X'), ['postgresql://u@a:1/db', 'postgresql://u@b:1/db']);
  assert.deepEqual(eachHost('postgresql:///db?host=/x,/y', 'X'), [
    'postgresql://localhost/db?host=%2Fx',
    'postgresql://localhost/db?host=%2Fy',
  ]);
  for (const single of ['postgresql://u@a/db?host=/tmp', 'postgres://a:1/db', 'socket:/x'])
    assert.deepEqual(eachHost(single, 'X'), [single]);
  assert.throws(
    () => eachHost('postgresql://a,b/db?target_session_attrs=standby', 'X'),
    /only reads; Quarterdeck writes, so ask for read-write/,
  );
  assert.throws(() => eachHost('postgresql://a,,b/db', 'X'), /an empty name among its hosts/);
});
