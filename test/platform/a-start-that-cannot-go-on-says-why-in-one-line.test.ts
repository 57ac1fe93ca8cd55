import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import pg from 'pg';
import { areas } from '../../src/areas/index.ts';
import { readConfig } from '../../src/kernel/config.ts';
import { Stop } from '../../src/kernel/errors.ts';
import { makeLog } from '../../src/kernel/log.ts';
import { serve } from '../../src/serve.ts';
import { ownPorts } from '../harness/own-ports.ts';
import { freshDatabase, stopOwnServer, urlOf } from '../harness/postgres.ts';
import { postgresOf, type ServerProcess, scratch, serverProcess, withoutSlowness } from '../harness/process.ts';

after(stopOwnServer);

/** Ended by itself, with its own exit code, one sentence and nothing else: no banner, no stack. */
async function refused(server: ServerProcess, code: number, sentence: RegExp) {
  const { code: found } = await server.exited;
  assert.match(withoutSlowness(server.stderr()), /^quarterdeck: [^\n]+\n$/);
  assert.match(server.stderr(), sentence);
  assert.equal(found, code);
  assert.equal(server.stdout(), '');
}

test('a taken port: 4, and the database it had started is stopped again', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const { port } = other.address() as AddressInfo;

  const server = serverProcess(t, { dir, env: { QUARTERDECK_LISTEN: `127.0.0.1:${port}` } });
  await refused(server, 4, new RegExp(`port ${port} on 127.0.0.1 is taken by another program; .* QUARTERDECK_LISTEN`));
  assert.equal(await postgresOf(dataDir), undefined);

  // The same data: what it had made before it was refused is used, and a second start beside it is told the pid of the first.
  const first = serverProcess(t, { dir });
  await first.ready;
  await refused(serverProcess(t, { dir }), 3, new RegExp(`already running here as pid ${first.pid};`));
  assert.equal((await (await first.owner()).get('/me')).status, 200);
  await first.stopped();
});

test('a data directory that is not ours: 5', async (t) => {
  const { dir, dataDir } = await scratch(t);
  await mkdir(join(dataDir, 'postgres', '18'), { recursive: true });
  await writeFile(join(dataDir, 'postgres', '18', 'PG_VERSION'), '18\n');
  await refused(serverProcess(t, { dir }), 5, /holds something that is not Quarterdeck's database; move it away/);
});

test('a database that cannot be reached: 6, and the password in its URL is not shown', async (t) => {
  const { dir } = await scratch(t);
  const nobody = createServer().listen(0, '127.0.0.1');
  await once(nobody, 'listening');
  const { port } = nobody.address() as AddressInfo;
  nobody.close();
  const server = serverProcess(t, { dir, env: { QUARTERDECK_DATABASE_URL: `postgres://someone:hunter2@127.0.0.1:${port}/x` } });
  await refused(server, 6, /QUARTERDECK_DATABASE_URL cannot be reached: ECONNREFUSED; check the URL/);
  assert.doesNotMatch(server.stderr(), /hunter2/);
});

/** In this process, since what becomes of a refusal is shown above: the same words, the same exit code. */
const refusedHere = (start: () => Promise<unknown>, code: number, sentence: RegExp) =>
  assert.rejects(start, (error) => {
    assert.ok(error instanceof Stop, String(error));
    assert.match(error.message, /^[^\n]+$/);
    assert.match(error.message, sentence);
    assert.equal(error.exitCode, code);
    return true;
  });

/** Every table with its rows, and every file with its content, each as a hash. */
async function allThatIsKept(client: pg.Client, dataDir: string): Promise<Record<string, string>> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const kept: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows } = await client.query(`select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as hash from ${name} t`);
    kept[name] = rows[0].hash;
  }
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    kept[path] = entry.isFile() ? hash('md5', await readFile(path)) : 'a folder';
  }
  return kept;
}

test('a lost or wrong secret.key: 8; a newer database: 7', async (t) => {
  const { dir, dataDir } = await scratch(t);
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const env = { ...ownPorts, QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_DATA: dataDir, QUARTERDECK_ROLES: 'api' };
  const { config } = readConfig(env, dir);
  const start = () => serve({ config, log: makeLog('silent'), areas });
  await (await start()).stop();

  const key = join(dataDir, 'secret.key');
  await rename(key, `${key}.away`);
  await refusedHere(
    start,
    8,
    /secret\.key is missing, and the database holds secrets sealed with it: copy it from another server, or restore the file from a backup; .* would be lost/,
  );
  await writeFile(key, `other:${Buffer.alloc(32, 7).toString('base64')}\n`);
  await refusedHere(start, 8, /secret\.key is not the key of this database: put the right file back/);
  await rename(`${key}.away`, key);

  const client = new pg.Client(connection);
  await client.connect();
  client.on('error', () => {}); // a failed test drops its database
  await client.query(`insert into kernel.migration (id, checksum) values ('kernel/9999_from_the_future', 'x')`);
  const before = await allThatIsKept(client, dataDir);
  await refusedHere(start, 7, /changed by a newer release \(migration kernel\/9999_from_the_future\); run that release or newer here/);
  assert.deepEqual(await allThatIsKept(client, dataDir), before, 'an older program changes nothing of newer data');
  await client.end();
});

test('a wrong setting: 9, before anything is started or bound', async (t) => {
  const { dir, dataDir } = await scratch(t);
  const misread = async () => readConfig({ QUARTERDECK_LISTEN: 'localhost' }, dir);
  await refusedHere(misread, 9, /QUARTERDECK_LISTEN is wrong: expected host:port, found "localhost"/);
  // Port 0 on every interface: a refusal that came after listening would still have bound one.
  const open = serverProcess(t, { dir, env: { QUARTERDECK_LISTEN: '0.0.0.0:0' } });
  await refused(open, 9, /listening on 0\.0\.0\.0 without TLS would send tokens in the clear: set QUARTERDECK_ACME/);
  await writeFile(join(dir, 'quarterdeck.toml'), 'lisen = "127.0.0.1:8080"\n');
  await refused(serverProcess(t, { dir }), 9, /quarterdeck\.toml has an unknown setting "lisen"; `quarterdeck config` lists them all/);
  assert.equal(await postgresOf(dataDir), undefined);
});
