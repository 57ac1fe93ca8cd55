import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { urlOf } from '../../../test/harness/postgres.ts';
import { eventually, scratch } from '../../../test/harness/process.ts';
import { caller } from '../../../test/harness/request.ts';
import { startHere } from '../../../test/platform/start-here.ts';
import { insertToken } from '../../areas/tokens/store/tokens.ts';
import { mintKey } from '../../identity/token-format.ts';
import { openDb } from '../../kernel/db/index.ts';
import { Stop } from '../../kernel/errors.ts';
import { type EmbeddedConnection, keepPostgres } from '../../kernel/postgres/index.ts';
import { pathsIn } from '../../kernel/postgres/paths.ts';
import { sql } from '../../kernel/sql.ts';

/** As a server has them that others follow; who follows needs no less than that. */
const settings = { fsync: 'off', wal_level: 'replica', max_wal_senders: '4', wal_keep_size: '64MB', max_connections: '60' };

/** A primary whose commits wait for the standby, and the standby: PostgreSQL's own streaming from one to the other. */
async function replicatedPair(t: TestContext) {
  const [first, second] = [await scratch(t, { isMigrated: true }), await scratch(t)];
  await (await keepPostgres({ dataDir: first.dataDir, settings })).stop(); // from here on its WAL is good for others
  await mkdir(join(second.dataDir, 'postgres'), { recursive: true });
  const [ahead, behind] = [(await pathsIn(first.dataDir)).cluster, (await pathsIn(second.dataDir)).cluster];
  await appendFile(join(ahead, 'pg_hba.conf'), 'local replication all scram-sha-256\n');
  await promisify(execFile)('cp', ['-a', ahead, behind]);
  await writeFile(join(behind, 'standby.signal'), '');

  const waiting = { ...settings, synchronous_standby_names: '*', synchronous_commit: 'remote_apply' };
  const primary = await keepPostgres({ dataDir: first.dataDir, settings: waiting });
  t.after(primary.stop);
  const { host, port, user, password } = primary.connection;
  const from = `host=${host} port=${port} user=${user} password=${password} sslmode=disable`;
  const standby = await keepPostgres({ dataDir: second.dataDir, settings: { ...settings, primary_conninfo: from } });
  t.after(standby.stop);
  return { primary, standby };
}

/** One URL with the sockets of all: a copy of a cluster has its login. */
const urlOfAll = (connections: EmbeddedConnection[]) =>
  urlOf(connections[0]!).replace(/\?host=.*/, `?host=${connections.map((c) => encodeURIComponent(c.host)).join(',')}`);

async function promote(connection: EmbeddedConnection) {
  const client = new pg.Client(connection);
  await client.connect();
  await client.query('select pg_promote(true, 60)');
  await client.end();
}

/** With a database of the operator's there is no `owner.token`. */
async function ownerKey(connection: EmbeddedConnection): Promise<string> {
  const db = openDb({ connection, max: 1 });
  const { key, start, hash } = mintKey('pat');
  await db.write(async (tx) => {
    const { rows } = await tx.query(sql`select org_id as org, user_id as "user" from identity.member where role = 'owner'`);
    const { org, user } = rows[0] as { org: string; user: string };
    await insertToken(tx, { org, user, name: 'test', start, hash, scope: [], ceilings: [], expiresIn: 3_600 });
  });
  await db.end();
  return key;
}

test('a standby is refused with its one sentence, and written to once the primary is gone and it was promoted', async (t) => {
  const { primary, standby } = await replicatedPair(t);
  const { dir } = await scratch(t);
  const start = (url: string) => startHere(t, { dir, env: { QUARTERDECK_DATABASE_URL: url } });

  await assert.rejects(start(urlOf(standby.connection)), (error) => {
    assert.ok(error instanceof Stop, String(error));
    assert.equal(error.exitCode, 6);
    assert.equal(
      error.message,
      'the database at QUARTERDECK_DATABASE_URL only reads: it is a standby, or set to read only; give the address of the primary, or of all servers as host,host',
    );
    return true;
  });

  const server = await start(urlOfAll([standby.connection, primary.connection]));
  const owner = caller(server.url, await ownerKey(primary.connection));
  const add = async (name: string) => (await owner.post('/oncall/services', { name })).status;
  assert.equal(await add('before'), 201);

  await primary.stop();
  assert.equal(await add('nowhere to write'), 503);
  await promote(standby.connection);
  await eventually(async () => (await add('after')) === 201);
  const { body } = await owner.get('/oncall/services');
  assert.deepEqual(body.services.map(({ name }: { name: string }) => name).sort(), ['after', 'before']);
  await server.stop();
});
