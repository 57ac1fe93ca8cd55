import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { makePeers } from '../../kernel/http/peer.ts';
import { makeServer } from '../../kernel/http/server.ts';
import { makeLog } from '../../kernel/log.ts';
import { docs } from '../docs.ts';

/** The most bytes that all sockets were given between two looks, of which there is one in each turn of the event loop. */
function watchTurns() {
  const sockets = new Set<Socket>();
  const seen = { mostBytes: 0, watch: (socket: Socket) => void sockets.add(socket) };
  let before = 0;
  const look = () => {
    const written = [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    seen.mostBytes = Math.max(seen.mostBytes, written - before);
    before = written;
    looking = setImmediate(look);
  };
  let looking = setImmediate(look);
  return Object.assign(seen, { stop: () => clearImmediate(looking) });
}

test('large scripts are sent in pieces, a few in one turn of the event loop however many clients ask', async (t) => {
  const log = makeLog('silent');
  const server = makeServer({ log, peers: makePeers([]), raw: [] });
  docs(server, [], '1.0.0');
  const turns = watchTurns();
  t.after(turns.stop);
  server.server.on('connection', turns.watch);
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => {
    server.server.closeAllConnections();
    return server.close();
  });

  const read = async () => {
    const answer = await fetch(`${url}/docs/js/scalar.js`);
    const bytes = await answer.arrayBuffer();
    assert.ok(bytes.byteLength > 2 ** 20);
    assert.equal(answer.headers.get('content-length'), String(bytes.byteLength));
  };
  await Promise.all(Array.from({ length: 5 }, read));
  assert.ok(turns.mostBytes <= 10 * 65_536, `${turns.mostBytes} bytes in one turn`);
});
