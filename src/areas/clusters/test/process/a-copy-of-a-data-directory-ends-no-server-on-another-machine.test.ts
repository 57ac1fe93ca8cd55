import assert from 'node:assert/strict';
import { test } from 'node:test';
import { releaseDeadHolders } from '../../../../drivers/process/engine/orphans.ts';
import { leasesOf } from '../../store/shards.ts';
import { readyCluster } from '../support.ts';
import { holderIn, withPrograms } from './support.ts';

test('a server takes clusters at once from one that was killed on its machine, and never from one on another machine', async (t) => {
  const { owner, app, dataDir } = await withPrograms(t);
  await readyCluster(owner, { name: 'prod' });
  const { holder, change } = await holderIn(dataDir);
  const released = async (by: object) => {
    await change(by);
    const found: string[] = [];
    await releaseDeadHolders(app, { find: leasesOf, release: async (_, ids) => void found.push(...ids) });
    return found;
  };
  const killed = { pid: 2 ** 22 + 1, started: holder.started.replace(/\d+$/, '1') };
  assert.deepEqual(await released(killed), [holder.lease]);
  // The first namespace of another machine has the same name, and nothing there can be seen to run from here.
  const [, namespace] = holder.among.split(' ');
  const boot = '00000000-0000-4000-8000-000000000000';
  assert.deepEqual(await released({ pid: 2 ** 22 + 1, started: `${boot} 1`, among: `${boot} ${namespace}` }), []);
});
