import assert from 'node:assert/strict';
import { appendFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { readyCluster } from '../support.ts';
import { runOf, withPrograms } from './support.ts';

test('the log of a running program stays small and keeps its last lines', async (t) => {
  const { owner, dataDir } = await withPrograms(t);
  await readyCluster(owner, { name: 'prod' });
  const run = await runOf(dataDir);
  const [cluster] = await readdir(run);
  const log = join(run, cluster!, 'kube-apiserver-0.log');
  // As an apiserver whose webhook fails at every request.
  await appendFile(log, `${'x'.repeat(9 * 2 ** 20)}\n`);
  await eventually(async () => (await stat(log)).size < 2 ** 20, { withinMs: 20_000 });
  assert.equal((await stat(`${log}.1`)).size, 4 * 2 ** 20);
});
