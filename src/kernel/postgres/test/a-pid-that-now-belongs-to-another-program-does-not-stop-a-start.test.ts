import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectRunning } from '../index.ts';
import { keep, query, scratch } from './support.ts';

test('a pid that now belongs to another program does not stop a start', async (t) => {
  const { dataDir } = await scratch(t);
  const first = await keep(t, dataDir);
  await first.stop();

  // As after a crash in a container, where the next process to come gets the old number. Process 1 is always there and never ours.
  const dir = join(dataDir, 'postgres');
  await writeFile(join(dir, '18', 'postmaster.pid'), `1\n${join(dir, '18')}\n1700000000\n5432\n${dir}\n\n  1234567         0\nready   \n`);
  await writeFile(join(dir, '.s.PGSQL.5432.lock'), `1\n${join(dir, '18')}\n1700000000\n5432\n${dir}\n\n`);
  assert.equal(await connectRunning(dataDir), undefined);

  const second = await keep(t, dataDir);
  assert.equal(second.adopted, false);
  assert.deepEqual(await query(second.connection, 'select 1 as alive'), [{ alive: 1 }]);
});
