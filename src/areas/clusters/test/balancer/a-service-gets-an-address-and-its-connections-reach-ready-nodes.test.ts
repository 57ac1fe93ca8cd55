import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { kube } from '../support.ts';
import {
  addAddresses,
  addressOf,
  balancedCluster,
  makeNode,
  makeService,
  nodeAddress,
  nodeServer,
  poolAddress,
  poolOf,
  servicesPath,
  setNode,
  talk,
  talkUntil,
  untilAddress,
  untilEvent,
  withBalancers,
} from './support.ts';

test('a Service gets an address, its connections reach ready nodes, and switching off frees it', async (t) => {
  const qd = await withBalancers(t);
  const { owner, app, clock } = qd;
  const way = await balancedCluster(owner);
  const ports = [{ port: 8_080, nodePort: 30_080 }];
  const first = await nodeServer(t, nodeAddress(1), 30_080);
  await nodeServer(t, nodeAddress(2), 30_080);
  await makeNode(way, 'one', nodeAddress(1));
  await makeNode(way, 'two', nodeAddress(2));
  assert.equal((await makeService(way, 'web', { ports })).status, 201);
  const limitations = async () => (await owner.get('/clusters/prod/usage')).body.limitations.join('\n');
  assert.match(await limitations(), /managedLoadBalancers: kept; the operator has added no addresses yet/);
  assert.equal(await addressOf(way, 'web'), undefined);

  await addAddresses(qd, poolOf());
  const address = await untilAddress(way, 'web');
  assert.equal(address, poolAddress(0));
  assert.doesNotMatch(await limitations(), /managedLoadBalancers/);
  assert.deepEqual((await owner.get('/clusters/prod')).body.managedLoadBalancers, {
    enabled: true,
    maxServices: 2,
    loadBalancers: [{ service: 'default/web', ip: address }],
  });
  assert.match(await untilEvent(way, 'web', 'LoadBalancerReady'), /accepts connections/);

  const answers = [await talk(address, 8_080), await talk(address, 8_080)];
  assert.deepEqual(answers.sort(), [`${nodeAddress(1)}\nhello`, `${nodeAddress(2)}\nhello`], 'in turn');
  await setNode(way, 'one', nodeAddress(1), false);
  await eventually(async () => {
    const both = [await talk(address, 8_080), await talk(address, 8_080)];
    return both.every((each) => each === `${nodeAddress(2)}\nhello`);
  });
  await setNode(way, 'one', nodeAddress(1), true);
  await eventually(async () => (await talk(address, 8_080)) === `${nodeAddress(1)}\nhello`);

  // A node that died without a word: the other one answers in its stead, and no client notices.
  await first.close();
  for (let n = 0; n < 4; n++) assert.equal(await talk(address, 8_080), `${nodeAddress(2)}\nhello`);

  await clock.advance('61s');
  const usage = async () => (await owner.get('/clusters/prod/usage')).body.loadBalancers;
  await eventually(async () => (await usage()).bytesIn > 0);
  const used = await usage();
  assert.equal(used.count, 1);
  assert.ok(used.hours > 0 && used.bytesIn >= 5 * 10 && used.bytesOut > used.bytesIn, JSON.stringify(used));

  // A changed port moves the listener; the address stays.
  const { body: service } = await kube(way, 'GET', `${servicesPath}/web`);
  await kube(way, 'PUT', `${servicesPath}/web`, { ...service, spec: { ...service.spec, ports: [{ port: 8_081, nodePort: 30_080 }] } });
  assert.equal(await talkUntil(address, 8_081), `${nodeAddress(2)}\nhello`);
  await assert.rejects(talk(address, 8_080), /ECONNREFUSED/);

  assert.equal((await owner.patch('/clusters/prod', { managedLoadBalancers: { enabled: false } })).status, 200);
  await eventually(async () => (await addressOf(way, 'web')) === undefined);
  await assert.rejects(talk(address, 8_081), /ECONNREFUSED/);
  await eventually(async () => (await owner.get('/clusters/prod')).body.managedLoadBalancers.loadBalancers.length === 0);
  assert.ok(app);
});
