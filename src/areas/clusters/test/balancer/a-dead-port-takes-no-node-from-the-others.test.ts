import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { balancersAlone, nodeAddress, nodeServer, poolAddress, talk } from './support.ts';

const address = poolAddress(90);
const ports = [
  { port: 8_141, nodePort: 30_141 },
  { port: 8_142, nodePort: 30_142 },
];

async function twoPorts(t: TestContext) {
  const nodes = await Promise.all(
    [11, 12, 13].map(async (n) => {
      await nodeServer(t, nodeAddress(n), 30_141);
      return { name: `node-${n}`, address: nodeAddress(n) };
    }),
  );
  const { balancers, cluster } = balancersAlone(t, {});
  const service = { uid: 'u', address, ports, nodes, sourceRanges: [], proxyProtocol: undefined };
  return { balancers, cluster, service };
}

test('a stranger’s connection to a port without a program takes no node from the other port, and is told by that port', async (t) => {
  const { cluster, service } = await twoPorts(t);
  assert.deepEqual(await cluster.serve(service), {});
  const stranger = connect(8_142, address).on('error', () => {});
  await new Promise((done) => stranger.once('close', done));
  const answers = [await talk(address, 8_141), await talk(address, 8_141), await talk(address, 8_141)];
  assert.equal(new Set(answers).size, 3, 'every node has its turn');
  assert.match((await cluster.serve(service)).nodes ?? '', /^no node accepts connections at node port 30142: /);
});

test('a Service that comes while the server drains is not listened for', async (t) => {
  const { balancers, cluster, service } = await twoPorts(t);
  await balancers.drain(1_000);
  assert.deepEqual(await cluster.serve(service), {});
  await assert.rejects(talk(address, 8_141), /ECONNREFUSED/);
});
