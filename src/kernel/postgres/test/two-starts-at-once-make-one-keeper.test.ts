import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { exitCodes } from '../../errors.ts';
import { connectRunning } from '../index.ts';
import { keeperProcess, query, scratch } from './support.ts';

test('two starts at once on an empty directory make one keeper', async (t) => {
  const { dataDir } = await scratch(t);
  const starts = [keeperProcess(t, dataDir), keeperProcess(t, dataDir)];
  const said = await Promise.all(starts.map((start) => start.said));

  const winner = said.findIndex((result) => result.kept);
  const loser = said[1 - winner];
  assert.equal(said.filter((result) => result.kept).length, 1, JSON.stringify(said));
  assert.equal(loser?.exitCode, exitCodes.alreadyRunning);
  assert.match(loser?.sentence ?? '', new RegExp(`as pid ${starts[winner]?.process.pid};`));

  const connection = await connectRunning(dataDir);
  assert.ok(connection);
  assert.deepEqual(await query(connection, 'select 1 as alive'), [{ alive: 1 }]);
  assert.deepEqual(
    (await readdir(join(dataDir, 'postgres'))).filter((name) => name.includes('making')),
    [],
  );
});
