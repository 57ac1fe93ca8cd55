import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { freshDatabase, stopOwnServer, urlOf } from '../../../test/harness/postgres.ts';
import { areas } from '../../areas/index.ts';
import { readConfig } from '../../kernel/config.ts';
import type { Connection } from '../../kernel/db/index.ts';
import { Stop } from '../../kernel/errors.ts';
import { makeLog } from '../../kernel/log.ts';
import { migrate, readMigrations } from '../../kernel/migrate.ts';
import { migrationsOf } from '../../serve.ts';
import { judgeServer, openExternal, refusalOf } from '../external.ts';
import { isPooled } from '../pooler.ts';

after(stopOwnServer);

const open = (url: string) => openExternal(readConfig({ QUARTERDECK_DATABASE_URL: url }, '/').config, makeLog('silent'));

const refused = (url: string, sentence: RegExp) =>
  assert.rejects(open(url), (error) => {
    assert.ok(error instanceof Stop, String(error));
    assert.equal(error.exitCode, 6);
    assert.match(error.message, sentence);
    assert.doesNotMatch(error.message, /hunter2|\n/);
    return true;
  });

/** An empty database, and a role that may log in there and nothing else. */
async function foreign(t: TestContext) {
  const { connection, drop } = await freshDatabase({ empty: true });
  const role = `clerk_${process.pid}_${process.hrtime.bigint() % 1_000_000n}`;
  const admin = new pg.Client(connection);
  await admin.connect();
  await admin.query(`create role ${role} login`);
  t.after(async () => {
    await admin.query(`drop owned by ${role}; drop role ${role}`);
    await admin.end();
    await drop();
  });
  const as = (user: string, database = connection.database): Connection => ({
    ...connection,
    user,
    password: 'hunter2',
    ...(database ? { database } : {}),
  });
  return { admin, role, as, database: connection.database! };
}

test('a missing database, a missing role and a server that only reads are named', async (t) => {
  const { admin, role, as } = await foreign(t);
  await refused(
    urlOf(as(role, 'nowhere')),
    /^QUARTERDECK_DATABASE_URL names a database that is not there \(database "nowhere" does not exist\); make it with createdb, or correct the URL$/,
  );
  await refused(urlOf(as('nobody')), /does not let us in \(role "nobody" does not exist\); check the role, its password and pg_hba\.conf$/);
  await admin.query(`alter role ${role} set default_transaction_read_only = on`);
  await refused(urlOf(as(role)), /only reads: it is a standby, or set to read only; give the address of the primary/);
});

test('a role that may not make schemas is told which right it needs, and with it, or with ready schemas, all is made', async (t) => {
  const { admin, role, as, database } = await foreign(t);
  const url = urlOf(as(role));
  await refused(
    url,
    new RegExp(
      `^the role ${role} may not make schemas in the database ${database} of QUARTERDECK_DATABASE_URL; run there as its owner: grant create on database "${database}" to "${role}"$`,
    ),
  );
  const sources = migrationsOf(areas);
  for (const { schema } of sources) await admin.query(`create schema ${schema} authorization ${role}`);
  const { connection, stop } = await open(url);
  assert.ok((await migrate(connection, readMigrations(sources))).length > 20);
  await stop();
});

test('what a server says of itself is judged in words', () => {
  const facts = { version: 18, only_reads: false, database: 'd', role: 'r', may_create: true, has_schemas: false };
  assert.equal(judgeServer(facts, 'X'), undefined);
  assert.equal(judgeServer({ ...facts, version: 15 }, 'X'), 'the database at X is PostgreSQL 15; 16 or newer is needed');
  assert.equal(judgeServer({ ...facts, may_create: false, has_schemas: true }, 'X'), undefined);
  const bouncer = Object.assign(new Error('unsupported startup parameter: statement_timeout'), { code: '08P01', severity: 'FATAL' });
  assert.match(refusalOf(bouncer, 'X'), /^X leads to a pooler in transaction mode, such as PgBouncer/);
});

test('PostgreSQL itself is not taken for a pooler', async (t) => {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  assert.equal(await isPooled(connection), false);
});
