import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectRunning } from '../index.ts';
import { isPostmaster } from '../postmaster.ts';
import { keep, keeperProcess, query, scratch } from './support.ts';

test('the orphan of a killed keeper is adopted, and stopped by its new keeper', async (t) => {
  const { dataDir } = await scratch(t);
  const first = keeperProcess(t, dataDir);
  const { postgres } = await first.said;
  const connection = await connectRunning(dataDir);
  assert.ok(connection);
  await query(connection, 'create table kept (id int); insert into kept values (7)');
  await first.killed();

  const second = await keep(t, dataDir);
  assert.equal(second.adopted, true);
  assert.equal(second.pid, postgres, 'the same server went on running');
  assert.deepEqual(await query(second.connection, 'select id from kept'), [{ id: 7 }]);
  assert.equal((await keeperProcess(t, dataDir).said).kept, false, 'an adopted server is kept like any other');

  await second.stop();
  assert.equal(await connectRunning(dataDir), undefined);
  assert.equal(await isPostmaster(postgres!, join(dataDir, 'postgres', '18')), false);
});
