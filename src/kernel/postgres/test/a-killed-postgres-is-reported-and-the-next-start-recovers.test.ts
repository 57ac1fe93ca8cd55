import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { keep, query, scratch } from './support.ts';

test('a killed postgres is reported, and the next start recovers though a backend was busy', async (t) => {
  const { dataDir } = await scratch(t);
  const first = await keep(t, dataDir);
  await query(first.connection, 'create table kept (id int); insert into kept values (7)');

  // A backend that computes does not see its server die, and holds on to the shared memory until it is done.
  const busy = new pg.Client(first.connection);
  busy.on('error', () => {});
  await busy.connect();
  const { rows } = await busy.query('select pg_backend_pid() as pid');
  const computing = busy.query(
    `do $$ declare until timestamptz := clock_timestamp() + '1 s'; begin while clock_timestamp() < until loop end loop; end $$`,
  );
  computing.catch(() => {});
  while ((await query(first.connection, `select state from pg_stat_activity where pid = ${rows[0].pid}`))[0]?.state !== 'active');

  process.kill(first.pid, 'SIGKILL');
  assert.match((await first.exited).reason, /ended$/);
  process.kill(rows[0].pid, 0);

  const second = await keep(t, dataDir);
  assert.equal(second.adopted, false);
  assert.deepEqual(await query(second.connection, 'select id from kept'), [{ id: 7 }]);
  await first.stop();
  assert.deepEqual(await query(second.connection, 'select 1 as alive'), [{ alive: 1 }], 'stopping the dead one does not touch the new one');
  await busy.end().catch(() => {});
});
