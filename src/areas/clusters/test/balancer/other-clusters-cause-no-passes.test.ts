import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { startBalancer } from '../../engine/balancer/index.ts';
import { clustersDue } from '../../engine/channels.ts';
import { addAddresses, poolOf } from './support.ts';

test('load balancers of a cluster without Services are looked after for its own changes and for new addresses alone', async (t) => {
  const qd = await quarterdeck(t);
  const { app } = qd;
  let passes = 0;
  const ask = async () => {
    passes++;
    return { status: 200, body: { items: [] } };
  };
  const row = { id: 'clu_1', org_id: qd.owner.orgId, tier: 'small', load_balancers: true };
  const balancer = startBalancer({
    app,
    plane: { ask, watch: () => () => {} } as never,
    cluster: () => row as never,
    held: { id: row.id, lease: '00000000-0000-4000-8000-000000000000' },
    listeners: { figures: () => ({ bytesIn: 0, bytesOut: 0, connections: 0 }), closeAll: async () => {} } as never,
  });
  await addAddresses(qd, poolOf());
  await eventually(async () => passes === 1);

  for (let n = 0; n < 10; n++) app.waker.wake(clustersDue); // what any organization changes about its clusters
  balancer.poke();
  await eventually(async () => passes === 2);
  await addAddresses(qd, poolOf(29, 8));
  await eventually(async () => passes === 3);
  await balancer.stop();
});
