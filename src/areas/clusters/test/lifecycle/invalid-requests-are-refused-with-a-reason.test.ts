import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { readyCluster, untilReady } from '../support.ts';

test('invalid requests are refused with a reason, and nothing is half created', async (t) => {
  const { owner, app } = await quarterdeck(t);
  const good = { name: 'prod', tier: 'small' };
  for (const [over, sentence] of [
    [{ name: 'Prod' }, /name/],
    [{ name: '1prod' }, /name/],
    [{ name: 'prod-' }, /name/],
    [{ name: 'p'.repeat(51) }, /name/],
    [{ name: '' }, /name/],
    [{ tier: 'huge' }, /tier/],
    [{ orchestratorVersion: 'v1.36.0' }, /not in the version catalog/],
    [{ orchestratorVersion: '1.36' }, /not in the version catalog/],
    [{ replicas: 0 }, /replicas/],
    [{ replicas: 10 }, /replicas/],
    [{ datastore: {} }, /mode/],
    [{ datastore: { mode: 'shared', size: 'db-huge' } }, /size/],
    [{ datastore: { mode: 'dedicated', storageGiB: 0 } }, /storageGiB/],
    [{ managedLoadBalancers: {} }, /enabled/],
    [{ colour: 'blue' }, /colour/],
  ] as const) {
    const refused = await owner.post('/clusters', { ...good, ...over });
    assert.equal(refused.status, 400, `${JSON.stringify(over)} ${JSON.stringify(refused.body)}`);
    assert.match(refused.body.error, sentence);
  }
  assert.deepEqual((await owner.get('/clusters')).body, { clusters: [] });

  // Every field of the specification is taken and kept; what is not given is said.
  const full = {
    ...good,
    replicas: 3,
    mesh: true,
    datastore: { mode: 'dedicated', size: 'db-large', storageGiB: 50, replicas: 3, backups: false },
    managedLoadBalancers: { enabled: true },
  };
  const made = await readyCluster(owner, full);
  assert.deepEqual(
    [made.replicas, made.mesh, made.datastore, made.managedLoadBalancers],
    [3, true, full.datastore, { enabled: true, maxServices: 2, loadBalancers: [] }],
  );
  const said = (await owner.get('/clusters/prod/usage')).body.limitations.join('\n');
  for (const word of ['mesh:', 'managedLoadBalancers:', 'replicas:', 'datastore:', 'workloads:']) assert.ok(said.includes(word), word);
  const taken = await owner.post('/clusters', good);
  assert.equal(taken.status, 409);
  assert.match(taken.body.error, /a cluster named prod exists/);
  const shrunk = await owner.patch('/clusters/prod', { datastore: { storageGiB: 10 } });
  assert.equal(shrunk.status, 409);

  // A failed one is tried again by any change, also by none.
  await app.db.write((tx) => run(tx)`update clusters.cluster set phase = 'failed', failures = 3, reason = 'a test says so'`);
  const again = await owner.patch('/clusters/prod', {});
  assert.ok(again.status === 200, JSON.stringify(again.body));
  await untilReady(owner, 'prod');

  for (const [body, status] of [
    [{ name: '' }, 400],
    [{ name: 'x', expiresIn: 59 }, 400],
    [{ name: 'x', expiresIn: 31_536_001 }, 400],
    [{ name: 'x', expiresIn: 60 }, 201],
  ] as const)
    assert.equal((await owner.post('/clusters/prod/registration-tokens', body)).status, status, JSON.stringify(body));
});
