import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../../../test/harness/process.ts';
import { renewCertificates } from '../../tasks.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster, untilReady } from '../support.ts';
import { pidsOf, recordsIn, withPrograms } from './support.ts';

test('certificates between programs are renewed in time: new programs take over without a failed request', async (t) => {
  const qd = await withPrograms(t);
  const { owner, clock, dataDir } = qd;
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  const [before] = await pidsOf(dataDir, 'kube-apiserver');
  const failed: string[] = [];
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      const said = await kube(node, 'GET', '/api/v1/nodes/worker-1').catch((error) => ({ status: String(error) }));
      if (said.status !== 200) failed.push(String(said.status));
      await sleep(20);
    }
  })();

  await clock.advance('61d');
  await qd.perform(renewCertificates);
  await eventually(
    async () => {
      const servers = (await recordsIn(dataDir)).filter(({ kind }) => kind === 'kube-apiserver');
      return servers.length === 1 && servers[0]!.pid !== before;
    },
    { withinMs: 60_000 },
  );
  await untilReady(owner, 'prod');
  assert.equal((await owner.get('/clusters/prod/nodes')).body.nodes.length, 1);
  isOver = true;
  await work;
  assert.deepEqual(failed, []);
});
