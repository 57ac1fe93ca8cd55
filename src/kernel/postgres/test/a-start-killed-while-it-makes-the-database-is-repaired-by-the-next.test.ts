import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { keep, keeperProcess, query, scratch } from './support.ts';

test('a start killed while it makes the database is repaired by the next', async (t) => {
  const { dataDir } = await scratch(t);
  const dir = join(dataDir, 'postgres');
  const first = keeperProcess(t, dataDir);
  first.said.catch(() => {});
  const half = join(dir, `18.making-${first.process.pid}`);
  const initdbIsAtWork = async () => (await readdir(half).catch(() => [] as string[])).includes('PG_VERSION');
  while (!(await initdbIsAtWork())) await sleep(2);
  await first.killed();
  assert.ok(!(await readdir(dir)).includes('18'), 'killed before the cluster had its name');

  // The leftover of an old start: the pid is beyond any that Linux or macOS uses.
  await mkdir(join(dir, '18.making-99999999', 'base'), { recursive: true });
  await writeFile(join(dir, '18.making-99999999.password'), 'half');

  const second = await keep(t, dataDir);
  assert.deepEqual(await query(second.connection, 'select 1 as alive'), [{ alive: 1 }]);
  assert.deepEqual(
    (await readdir(dir)).filter((name) => name.includes('99999999')),
    [],
  );

  // Killed a little later, between the cluster and its database.
  await query({ ...second.connection, database: 'postgres' }, 'drop database quarterdeck');
  await second.stop();
  const third = await keep(t, dataDir);
  assert.deepEqual(await query(third.connection, 'select current_database() as name'), [{ name: 'quarterdeck' }]);
});
