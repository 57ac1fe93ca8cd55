import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { connectRunning, keepPostgres, type PostgresEvent } from '../index.ts';
import { isPostmaster } from '../postmaster.ts';
import { isRoot, keep, keeperProcess, query, scratch } from './support.ts';

test('a start recovers from whatever was killed before it', async (t) => {
  // One life of one data directory: every part starts from what the one before has left.
  const { dataDir } = await scratch(t, { isMade: true });
  const cluster = join(dataDir, 'postgres', '18');

  await t.test('the keeper was killed: its orphan is adopted, and stopped by its new keeper', async (t) => {
    const first = keeperProcess(t, dataDir);
    const { postgres } = await first.said;
    const connection = await connectRunning(dataDir);
    assert.ok(connection);
    await query(connection, 'create table kept (id int); insert into kept values (1)');
    await first.killed();

    const second = await keep(t, dataDir);
    assert.equal(second.adopted, true);
    assert.equal(second.pid, postgres, 'the same server went on running');
    assert.deepEqual(await query(second.connection, 'select id from kept'), [{ id: 1 }]);
    assert.equal((await keeperProcess(t, dataDir).said).kept, false, 'an adopted server is kept like any other');

    await second.stop();
    assert.equal(await connectRunning(dataDir), undefined);
    assert.equal(await isPostmaster(second.pid, cluster), false);
  });

  await t.test('keeper and postgres were killed: nothing committed is lost', async (t) => {
    const first = keeperProcess(t, dataDir);
    const { postgres } = await first.said;
    const connection = await connectRunning(dataDir);
    assert.ok(connection);
    for (const id of [2, 3]) await query(connection, `insert into kept values (${id})`);
    process.kill(postgres!, 'SIGKILL');
    await first.killed();

    const second = await keep(t, dataDir);
    assert.equal(second.adopted, false);
    assert.deepEqual(await query(second.connection, 'select id from kept order by id'), [{ id: 1 }, { id: 2 }, { id: 3 }]);
  });

  await t.test('postgres was killed beside a busy backend: the keeper hears of it, and the next start waits', async (t) => {
    const first = await keep(t, dataDir);
    // A backend that computes does not see its server die, and holds on to the shared memory until it is done.
    const busy = new pg.Client(first.connection);
    busy.on('error', () => {});
    await busy.connect();
    const { rows } = await busy.query('select pg_backend_pid() as pid');
    const computing = busy.query(
      `do $$ declare until timestamptz := clock_timestamp() + '60 s'; begin while clock_timestamp() < until loop end loop; end $$`,
    );
    computing.catch(() => {});
    while ((await query(first.connection, `select state from pg_stat_activity where pid = ${rows[0].pid}`))[0]?.state !== 'active');

    process.kill(first.pid, 'SIGKILL');
    assert.match((await first.exited).reason, /ended$/);
    assert.ok(await isPostmaster(rows[0].pid, cluster), 'the busy backend is still there');

    const waits = Promise.withResolvers<PostgresEvent>();
    const starting = keepPostgres({ dataDir, log: (event) => event.event === 'postgres.survivors' && waits.resolve(event) });
    assert.deepEqual(await waits.promise, { event: 'postgres.survivors', pids: [rows[0].pid] });
    process.kill(rows[0].pid, 'SIGTERM');
    const second = await starting;
    t.after(() => second.stop());
    assert.equal(second.adopted, false);
    await first.stop();
    assert.equal((await query(second.connection, 'select id from kept')).length, 3, 'stopping the dead one does not touch the new one');
    await busy.end().catch(() => {});
  });

  await t.test('the pid it left belongs to another program by now', async (t) => {
    assert.equal(await connectRunning(dataDir), undefined, 'stopped by the part before');
    // As after a crash in a container, where the next process gets the old number. PostgreSQL yields only to a process of its own user.
    const dir = join(dataDir, 'postgres');
    const { uid, gid } = await stat(cluster);
    const another = spawn('sleep', ['60'], { stdio: 'ignore', ...(isRoot && { uid, gid }) });
    t.after(() => another.kill('SIGKILL'));
    await writeFile(
      join(cluster, 'postmaster.pid'),
      `${another.pid}\n${cluster}\n1700000000\n5432\n${dir}\n\n  1234567         0\nready   \n`,
    );
    await writeFile(join(dir, '.s.PGSQL.5432.lock'), `${another.pid}\n${cluster}\n1700000000\n5432\n${dir}\n\n`);
    assert.equal(await connectRunning(dataDir), undefined);

    const kept = await keep(t, dataDir);
    assert.equal(kept.adopted, false);
    assert.equal((await query(kept.connection, 'select id from kept')).length, 3);
  });
});
