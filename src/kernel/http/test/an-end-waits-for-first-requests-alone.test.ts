import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, connect, Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { Connections } from '../connections.ts';
import { makePeers } from '../peer.ts';

/** A server that ends; time stands still, so no limit of a connection ever passes. */
async function ending(t: TestContext) {
  const connections = new Connections(makePeers([]));
  const server = http.createServer((_request, response) => void response.end('answered'));
  server.keepAliveTimeout = 0; // it closes no idle connection by itself
  connections.watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  const now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const end = () => {
    Server.prototype.close.call(server); // accepts no more, and leaves connections alone, as a stop does
    return connections.end(60_000, () => assert.fail('a request is refused'));
  };
  return { server, end, port: (server.address() as AddressInfo).port };
}

test('a connection that is kept alive after its request does not hold the end up', { timeout: 10_000 }, async (t) => {
  const { port, end } = await ending(t);
  const agent = new http.Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const [response] = (await once(http.get({ agent, port, host: '127.0.0.1' }), 'response')) as [http.IncomingMessage];
  assert.equal(await text(response), 'answered');
  assert.deepEqual(await end(), { refused: 0, cut: 0 });
});

test('a first request that is still on its way is answered', { timeout: 10_000 }, async (t) => {
  const { server, port, end } = await ending(t);
  const socket = connect(port, '127.0.0.1');
  await once(server, 'connection');
  const ended = end();
  await new Promise(setImmediate);
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  assert.match(await text(socket), /^HTTP\/1.1 200 OK\r\n[\s\S]*connection: close\r\n[\s\S]*answered/i);
  assert.deepEqual(await ended, { refused: 0, cut: 0 });
});
