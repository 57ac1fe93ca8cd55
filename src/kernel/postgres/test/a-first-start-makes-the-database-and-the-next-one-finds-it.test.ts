import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectRunning } from '../index.ts';
import { isRoot, keep, query, scratch, uidOf } from './support.ts';

test('a first start makes the database and the next one finds it', async (t) => {
  // PostgreSQL reads the socket's directory as a list: a comma and quotes in a path must stay characters.
  const { dataDir } = await scratch(t, { below: 'a, "b" \'c\'' });
  assert.equal(await connectRunning(dataDir), undefined, 'nothing is there yet');

  const first = await keep(t, dataDir);
  assert.equal(first.adopted, false);
  assert.equal(first.connection.host, join(dataDir, 'postgres'));
  const [settings] = await query(
    first.connection,
    `select current_user as role, current_database() as database, pg_encoding_to_char(encoding) as encoding, datlocprovider as provider,
            datlocale as locale, current_setting('data_checksums') as checksums, current_setting('listen_addresses') as tcp,
            current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('timezone') as timezone,
            inet_server_addr() as address
       from pg_database where datname = current_database()`,
  );
  assert.deepEqual(settings, {
    role: 'quarterdeck',
    database: 'quarterdeck',
    encoding: 'UTF8',
    provider: 'b',
    locale: 'C.UTF-8',
    checksums: 'on',
    tcp: '',
    fsync: 'on',
    commit: 'on',
    timezone: 'UTC',
    address: null,
  });
  await assert.rejects(query({ ...first.connection, password: 'guessed' }, 'select 1'), /password authentication failed/);

  const cluster = join(dataDir, 'postgres', '18');
  assert.equal((await stat(join(cluster, 'quarterdeck.password'))).mode & 0o777, 0o600);
  assert.equal((await stat(join(dataDir, 'postgres'))).mode & 0o777, 0o700);
  assert.equal((await readFile(join(cluster, 'pg_hba.conf'), 'utf8')).trim(), 'local all all scram-sha-256');

  if (isRoot) {
    assert.equal(await uidOf(first.pid), 65534);
    assert.equal((await stat(cluster)).uid, 65534);
    assert.notEqual((await stat(dataDir)).uid, 65534, 'only what is PostgreSQL’s is given away');
  }
  if (process.platform === 'linux') {
    const [, , group, session] = (await readFile(`/proc/${first.pid}/stat`, 'utf8'))
      .replace(/^.*\) /, '')
      .split(' ')
      .map(Number);
    assert.deepEqual({ group, session }, { group: first.pid, session: first.pid }, 'out of reach of Ctrl-C');
  }

  await query(first.connection, 'create table kept (id int); insert into kept values (7)');
  assert.deepEqual(await connectRunning(dataDir), first.connection);
  await first.stop();
  await first.stop();
  assert.equal(await connectRunning(dataDir), undefined, 'stopping leaves nothing that answers');

  const began = performance.now();
  const second = await keep(t, dataDir);
  // Some 60 ms when the machine is free; the bound is what the whole product may take.
  assert.ok(performance.now() - began < 3_000, 'a warm start is quick');
  assert.equal(second.adopted, false);
  assert.deepEqual(await query(second.connection, 'select id from kept'), [{ id: 7 }]);
});
