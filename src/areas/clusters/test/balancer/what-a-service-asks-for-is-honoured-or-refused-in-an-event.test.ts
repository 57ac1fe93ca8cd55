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
  untilAddress,
  untilEvent,
  withBalancers,
} from './support.ts';

const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const slice = (nodeName: string) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'local' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.244.0.5'], conditions: { ready: true }, nodeName }],
});

test('what a Service asks for is honoured, or refused in an Event while it stays pending', async (t) => {
  const qd = await withBalancers(t);
  const { owner } = qd;
  await addAddresses(qd, poolOf());
  const way = await balancedCluster(owner, 'prod', 'large');
  const nodes = [await nodeServer(t, nodeAddress(1), 30_090), await nodeServer(t, nodeAddress(2), 30_090)];
  await makeNode(way, 'one', nodeAddress(1));
  await makeNode(way, 'two', nodeAddress(2));
  const ports = [{ port: 8_090, nodePort: 30_090 }];

  await t.test('UDP, and addresses that are not to be had', async () => {
    await makeService(way, 'dns', { ports: [{ port: 53, nodePort: 30_053, protocol: 'UDP' }] });
    assert.match(await untilEvent(way, 'dns', 'UnsupportedProtocol'), /carry TCP/);
    await makeService(way, 'foreign', { ports, spec: { loadBalancerIP: '203.0.113.7' } });
    assert.match(await untilEvent(way, 'foreign', 'LoadBalancerAddress'), /not free here/);
    await makeService(way, 'other', { ports, spec: { loadBalancerClass: 'example.com/other' } });
    for (const name of ['dns', 'foreign', 'other']) assert.equal(await addressOf(way, name), undefined, name);
    for (const name of ['dns', 'foreign', 'other']) await kube(way, 'DELETE', `${servicesPath}/${name}`);
  });

  await t.test('an address by name, and a move to another', async () => {
    await makeService(way, 'named', { ports, spec: { loadBalancerIP: poolAddress(5) } });
    assert.equal(await untilAddress(way, 'named'), poolAddress(5));
    // Another Service of the cluster asks for it; the sentence is that of an address outside of the pool.
    await makeService(way, 'thief', { ports, spec: { loadBalancerIP: poolAddress(5) } });
    assert.match(await untilEvent(way, 'thief', 'LoadBalancerAddress'), /not free here/);
    assert.equal(await addressOf(way, 'thief'), undefined);
    const { body } = await kube(way, 'GET', `${servicesPath}/named`);
    await kube(way, 'PUT', `${servicesPath}/named`, { ...body, spec: { ...body.spec, loadBalancerIP: poolAddress(6) } });
    await eventually(async () => (await addressOf(way, 'named')) === poolAddress(6));
    await eventually(async () => (await addressOf(way, 'thief')) === poolAddress(5), { withinMs: 30_000 });
    await assert.doesNotReject(talk(poolAddress(5), 8_090));
    for (const name of ['named', 'thief']) await kube(way, 'DELETE', `${servicesPath}/${name}`);
  });

  await t.test('only nodes with endpoints, by externalTrafficPolicy Local', async () => {
    await makeService(way, 'local', { ports, spec: { externalTrafficPolicy: 'Local' } });
    const address = await untilAddress(way, 'local');
    assert.match(await untilEvent(way, 'local', 'LoadBalancerWithoutNodes'), /no ready node has an endpoint/);
    await assert.rejects(talk(address, 8_090), /ECONNRESET/);
    assert.equal((await kube(way, 'POST', slices, slice('two'))).status, 201);
    await eventually(async () => (await talk(address, 8_090).catch(() => '')) === `${nodeAddress(2)}\nhello`);
    for (let n = 0; n < 3; n++) assert.equal(await talk(address, 8_090), `${nodeAddress(2)}\nhello`);
    const { body } = await kube(way, 'GET', `${slices}/web-1`);
    await kube(way, 'PUT', `${slices}/web-1`, { ...body, endpoints: slice('one').endpoints });
    await eventually(async () => (await talk(address, 8_090)) === `${nodeAddress(1)}\nhello`);
    await kube(way, 'DELETE', `${servicesPath}/local`);
  });

  await t.test('a node at a load balancer’s own address, which would send every connection round in a circle', async () => {
    await makeService(way, 'circle', { ports });
    const address = await untilAddress(way, 'circle');
    await setNode(way, 'two', nodeAddress(2), false);
    await setNode(way, 'one', poolAddress(3), true);
    assert.match(await untilEvent(way, 'circle', 'LoadBalancerWithoutNodes'), /node one says that its address is .* load balancers’ own/);
    await assert.rejects(talk(address, 8_090), /ECONNRESET/);
    for (const [n, name] of ['one', 'two'].entries()) await setNode(way, name, nodeAddress(n + 1), true);
    await eventually(async () => /hello/.test(await talk(address, 8_090).catch(() => '')));

    // A Service that is changed to something we refuse is served as before, but by the nodes of now.
    const { body } = await kube(way, 'GET', `${servicesPath}/circle`);
    const annotations = { 'quarterdeck/proxy-protocol': 'v3' };
    await kube(way, 'PUT', `${servicesPath}/circle`, { ...body, metadata: { ...body.metadata, annotations } });
    assert.match(await untilEvent(way, 'circle', 'LoadBalancerInvalid'), /it may be v1 or v2/);
    await setNode(way, 'one', nodeAddress(1), false);
    await eventually(async () => {
      const both = [await talk(address, 8_090), await talk(address, 8_090)];
      return both.every((each) => each === `${nodeAddress(2)}\nhello`);
    });
    await setNode(way, 'one', nodeAddress(1), true);
    await kube(way, 'DELETE', `${servicesPath}/circle`);
  });

  await t.test('source ranges', async () => {
    await makeService(way, 'narrow', { ports, spec: { loadBalancerSourceRanges: ['127.0.0.2/32'] } });
    const address = await untilAddress(way, 'narrow');
    assert.match(await talk(address, 8_090, 'hello', '127.0.0.2'), /hello/);
    await assert.rejects(talk(address, 8_090, 'hello', '127.0.0.3'), /ECONNRESET/);
    await kube(way, 'DELETE', `${servicesPath}/narrow`);
  });

  await t.test('the PROXY protocol', async () => {
    await makeService(way, 'proxied', { ports, annotations: { 'quarterdeck/proxy-protocol': 'v1' } });
    const address = await untilAddress(way, 'proxied');
    const answer = await talk(address, 8_090, 'hello', '127.0.0.9');
    assert.match(answer, new RegExp(`\nPROXY TCP4 127\\.0\\.0\\.9 ${address.replaceAll('.', '\\.')} \\d+ 8090\r\nhello$`));
    const { body } = await kube(way, 'GET', `${servicesPath}/proxied`);
    assert.equal(body.status.loadBalancer.ingress[0].ipMode, 'Proxy', 'kube-proxy must not answer in its stead');
    await kube(way, 'DELETE', `${servicesPath}/proxied`);
  });

  await t.test('a smaller tier that has room for fewer', async () => {
    const names = ['a', 'b', 'c'];
    for (const name of names) await makeService(way, name, { ports });
    for (const name of names) await untilAddress(way, name);
    const refused = await owner.patch('/clusters/prod', { tier: 'small' });
    assert.equal(refused.status, 409);
    assert.match(JSON.stringify(refused.body), /room for 2 load-balanced services, and 3 have an address/);
  });

  // A health check opens connections and says nothing.
  for (const { said } of nodes) assert.ok(said.every((each) => /hello$/.test(each)));
});
