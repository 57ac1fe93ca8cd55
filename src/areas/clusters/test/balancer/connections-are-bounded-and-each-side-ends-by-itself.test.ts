import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../../../../../test/harness/process.ts';
import { balancersAlone, nodeAddress, poolAddress } from './support.ts';

const nodePort = 30_140;
const port = 8_140;
const address = poolAddress(80);

/** A listener before one node, whose server does as it is told with each connection. */
async function listener(t: TestContext, onConnection: (socket: Socket) => void, allowed?: string) {
  const sockets = new Set<Socket>();
  const node = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => {}));
    onConnection(socket);
  });
  node.listen(nodePort, nodeAddress(8));
  await once(node, 'listening');
  const { balancers, cluster } = balancersAlone(t, { allowed, maxConnections: () => 8 });
  const nodes = [{ name: 'one', address: nodeAddress(8) }];
  const served = { uid: 'u', address, ports: [{ port, nodePort }], nodes, sourceRanges: [], proxyProtocol: undefined };
  assert.deepEqual(await cluster.serve(served), {});
  t.after(async () => {
    await cluster.closeAll();
    for (const socket of sockets) socket.destroy();
    node.close();
  });
  return { balancers, cluster, served };
}

const dial = (localAddress: string): Socket => connect({ host: address, port, localAddress, allowHalfOpen: true }).on('error', () => {});

test('connections are bounded for a cluster and for a client address, and closed ones make room', async (t) => {
  const { balancers } = await listener(t, (socket) => {
    socket.write('hi');
    socket.resume().once('end', () => socket.end());
  });
  const isServed = async (from: string) => {
    const socket = dial(from);
    t.after(() => socket.destroy());
    const got = await new Promise<boolean>((resolve) => {
      socket.once('data', () => resolve(true)).once('close', () => resolve(false));
    });
    return { socket, got };
  };
  const first = [await isServed('127.0.0.2'), await isServed('127.0.0.2')];
  assert.deepEqual(
    first.map(({ got }) => got),
    [true, true],
  );
  assert.equal((await isServed('127.0.0.2')).got, false, 'a quarter of 8 for one address');
  for (const from of ['127.0.0.3', '127.0.0.4', '127.0.0.5'])
    for (let n = 0; n < 2; n++) assert.equal((await isServed(from)).got, true, from);
  await eventually(async () => balancers.connections() === 8);
  assert.equal((await isServed('127.0.0.6')).got, false, 'the cluster is full');
  for (const { socket } of first) socket.destroy();
  await eventually(async () => balancers.connections() === 6);
  assert.equal((await isServed('127.0.0.6')).got, true);
});

test('a client that does not read slows its node down, and nothing piles up here', async (t) => {
  const chunk = Buffer.alloc(2 ** 18);
  let sent = 0;
  await listener(t, (socket) => {
    const pump = () => {
      let hasRoom = true;
      while (hasRoom && !socket.destroyed) {
        sent += chunk.length;
        hasRoom = socket.write(chunk);
      }
    };
    socket.on('drain', pump);
    pump();
  });
  const client = dial('127.0.0.2');
  t.after(() => client.destroy());
  await once(client, 'connect');
  let before = -1;
  let same = 0;
  await eventually(
    async () => {
      same = sent === before ? same + 1 : 0;
      before = sent;
      return sent > 0 && same > 40;
    },
    { withinMs: 30_000 },
  );
  assert.ok(sent < 64 * 2 ** 20, `${sent} bytes are more than sockets' buffers`);
});

test('each side ends by itself: what the other one still says arrives', async (t) => {
  const heard: string[] = [];
  const { cluster } = await listener(t, (socket) => {
    socket.end('bye');
    void readText(socket).then((text) => heard.push(text));
  });
  const client = dial('127.0.0.2');
  let read = '';
  client.on('data', (data) => {
    read += data;
  });
  await once(client, 'end');
  assert.equal(read, 'bye', 'the node has ended its side');
  client.end('and a last word');
  await eventually(async () => heard.join() === 'and a last word');
  await eventually(async () => isDeepStrictEqual(cluster.figures(), { bytesIn: 15, bytesOut: 3, connections: 0 }));
});

test('a node at an address that the operator does not allow is never dialed', async (t) => {
  let dialed = 0;
  const { cluster, served } = await listener(
    t,
    () => {
      dialed++;
    },
    'node=10.0.0.0/8',
  );
  const client = dial('127.0.0.2');
  assert.ok(await new Promise((resolve) => client.once('close', resolve)), 'reset');
  assert.equal(dialed, 0);
  assert.match((await cluster.serve(served)).nodes ?? '', /QUARTERDECK_ALLOW_PRIVATE_CIDRS|loopback|private/);
});
