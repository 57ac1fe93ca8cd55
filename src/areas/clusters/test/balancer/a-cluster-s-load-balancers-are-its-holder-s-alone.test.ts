import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { startBalancer } from '../../engine/balancer/index.ts';
import { clustersDue } from '../../engine/channels.ts';
import { balancersOf, takeAddress } from '../../store/load-balancers.ts';
import { addAddresses, poolOf } from './support.ts';

/** A balancer of a cluster that has no Services, and whose lease this server does not hold. */
function startAlone({ app, owner }: Quarterdeck, more: object, ask: () => Promise<unknown>) {
  const row = { id: 'clu_1', org_id: owner.orgId, tier: 'small', load_balancers: true, ...more };
  return startBalancer({
    app,
    plane: { ask, watch: () => () => {} } as never,
    cluster: () => row as never,
    held: { id: row.id, lease: '00000000-0000-4000-8000-000000000000' },
    listeners: { figures: () => ({ bytesIn: 0, bytesOut: 0, connections: 0 }), close: async () => {}, closeAll: async () => {} } as never,
  });
}

test('load balancers of a cluster without Services are looked after for its own changes and for new addresses alone', async (t) => {
  const qd = await quarterdeck(t);
  const { app } = qd;
  let passes = 0;
  const ask = async () => {
    passes++;
    return { status: 200, body: { items: [] } };
  };
  const balancer = startAlone(qd, {}, ask);
  await addAddresses(qd, poolOf());
  await eventually(async () => passes === 1);

  for (let n = 0; n < 10; n++) app.waker.wake(clustersDue); // what any organization changes about its clusters
  balancer.poke();
  await eventually(async () => passes === 2);
  await addAddresses(qd, poolOf(29, 8));
  await eventually(async () => passes === 3);
  await balancer.stop();
});

test('a server that has lost the lease gives no address back that another one listens on', async (t) => {
  const qd = await quarterdeck(t);
  const { app, owner } = qd;
  const taken = { org: owner.orgId, cluster: 'clu_1', uid: 'u1', namespace: 'default', service: 'web' };
  await addAddresses(qd, poolOf());
  assert.notEqual(await app.db.write((tx) => takeAddress(tx, taken)), undefined);
  let asked = 0;
  // As it last read the row, load balancers are switched off.
  const balancer = startAlone(qd, { load_balancers: false }, async () => {
    asked++;
    return { status: 404, body: {} };
  });
  for (const passes of [1, 2]) {
    await eventually(async () => asked >= passes);
    balancer.poke();
  }
  await balancer.stop();
  assert.equal((await app.db.read((tx) => balancersOf(tx, 'clu_1'))).length, 1);
});
