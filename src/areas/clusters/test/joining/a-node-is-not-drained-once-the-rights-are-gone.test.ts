import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { heldUpByToken, openRace } from '../../../../../test/harness/race.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster } from '../support.ts';

test('a node is not drained by a request whose token is revoked meanwhile', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const race = await openRace(qd.connection);
  t.after(race.close);
  await readyCluster(owner, { name: 'prod' });
  const way = await adminOf(owner, 'prod');
  await joinNode(way, await joinToken(owner, 'prod'), 'worker');
  const { id, key } = (await owner.post('/tokens', { name: 'ci' })).body;
  const ci = caller(qd.url, key);
  assert.equal((await ci.get('/clusters/prod')).status, 200); // remembered from here on

  await race.hold(...heldUpByToken(id));
  const revoked = owner.delete(`/tokens/${id}`);
  await race.untilWaiting(1);
  let over = 0;
  const removing = ci.delete('/clusters/prod/nodes/worker').finally(() => over++);
  await race.untilWaiting(2, () => over);
  await race.release();
  assert.equal((await revoked).status, 204);
  assert.equal((await removing).status, 401);
  const { status, body } = await kube(way, 'GET', '/api/v1/nodes/worker');
  assert.deepEqual([status, body.spec?.unschedulable], [200, undefined]);
  assert.equal((await owner.delete('/clusters/prod/nodes/worker')).status, 204);
});
