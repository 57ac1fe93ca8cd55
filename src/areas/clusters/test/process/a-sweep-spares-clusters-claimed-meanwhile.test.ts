import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sweepOrphans, waitForSweep } from '../../../../drivers/process/engine/orphans.ts';
import { isRunning, markOf } from '../../../../kernel/programs/process.ts';
import { leasesOf, releaseClusters } from '../../store/shards.ts';
import { readyCluster } from '../support.ts';
import { holderIn, programsIn, withPrograms } from './support.ts';

const leases = { find: leasesOf, release: releaseClusters };

test('a sweep spares clusters claimed since it began; a claim of a cluster being swept waits for the sweep', async (t) => {
  const { owner, app, dataDir } = await withPrograms(t);
  await readyCluster(owner, { name: 'prod' });
  const { run, id, change } = await holderIn(dataDir);
  // As a server left it that held the cluster under another lease.
  await change({ lease: '00000000-0000-4000-8000-000000000000' });
  const before = await programsIn(dataDir);
  assert.equal(before.length, 3);
  let asked = 0;
  await sweepOrphans(app, leases, () => asked++ > 0);
  assert.ok(asked > 1, 'it is asked again before anything is ended');
  assert.deepEqual(await programsIn(dataDir), before);

  // A program of a cluster that is gone, which takes its time to end.
  const gone = join(run, 'cls_gone');
  await mkdir(gone);
  const slow = spawn('sh', ['-c', 'trap "sleep 0.5; exit" TERM; echo ready; while :; do sleep 0.1; done'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => slow.kill('SIGKILL'));
  await once(slow.stdout, 'data');
  const mark = (await markOf(slow.pid!))!;
  await writeFile(join(gone, 'kine.record.json'), JSON.stringify({ ...mark, kind: 'kine', name: 'kine' }));
  const sweep = sweepOrphans(app, leases, (cluster) => cluster === id);
  while (!(await isWaiting(waitForSweep(app.config.data, 'cls_gone')))) await new Promise(setImmediate);
  assert.equal(await isRunning(mark), true);
  await waitForSweep(app.config.data, 'cls_gone');
  assert.equal(await isRunning(mark), false);
  assert.ok(!(await readdir(run)).includes('cls_gone'));
  await sweep;
});

/** Whether it is not over yet, when everything that is over has said so. */
async function isWaiting(work: Promise<void>): Promise<boolean> {
  let isOver = false;
  void work.then(() => {
    isOver = true;
  });
  await new Promise(setImmediate);
  return !isOver;
}
