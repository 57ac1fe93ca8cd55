import assert from 'node:assert/strict';
import { test } from 'node:test';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { untilReady } from '../support.ts';
import { pidsOf, withPrograms } from './support.ts';

test('clusters that never become ready do not delay those of another organization', async (t) => {
  const { owner, organization, dataDir, binaries } = await withPrograms(t, { env: { QUARTERDECK_CLUSTER_QUOTA: '9' } });
  await misbehave(binaries, { 'kube-apiserver': { slowStartMs: 600_000 } });
  for (let n = 0; n < 9; n++) assert.equal((await owner.post('/clusters', { name: `slow-${n}`, tier: 'small' })).status, 201);
  await eventually(async () => (await pidsOf(dataDir, 'kube-apiserver')).length >= 3, { withinMs: 60_000 });

  const other = await organization('other');
  assert.equal((await other.post('/clusters', { name: 'quick', tier: 'small', orchestratorVersion: 'v1.36.0+embedded' })).status, 201);
  await untilReady(other, 'quick');
  assert.equal((await pidsOf(dataDir, 'kube-apiserver')).length, 3);
});
