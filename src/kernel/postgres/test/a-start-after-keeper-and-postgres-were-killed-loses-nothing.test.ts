import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectRunning } from '../index.ts';
import { keep, keeperProcess, query, scratch } from './support.ts';

test('a start after keeper and postgres were both killed loses nothing committed', async (t) => {
  const { dataDir } = await scratch(t);
  const first = keeperProcess(t, dataDir);
  const { postgres } = await first.said;
  const connection = await connectRunning(dataDir);
  assert.ok(connection);
  await query(connection, 'create table kept (id int)');
  for (const id of [1, 2, 3]) await query(connection, `insert into kept values (${id})`);
  process.kill(postgres!, 'SIGKILL');
  await first.killed();

  const second = await keep(t, dataDir);
  assert.equal(second.adopted, false);
  assert.deepEqual(await query(second.connection, 'select id from kept order by id'), [{ id: 1 }, { id: 2 }, { id: 3 }]);
});
