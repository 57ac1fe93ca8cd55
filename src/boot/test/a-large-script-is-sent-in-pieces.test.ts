import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { makePeers } from '../../kernel/http/peer.ts';
import { makeServer } from '../../kernel/http/server.ts';
import { makeLog } from '../../kernel/log.ts';
import { docs } from '../docs.ts';

/** The most bytes that a socket was given between two looks, of which there is one in each turn of the event loop. */
function watchTurns(socket: Socket): { mostBytes: number } {
  const seen = { mostBytes: 0 };
  let before = 0;
  const look = () => {
    seen.mostBytes = Math.max(seen.mostBytes, socket.bytesWritten - before);
    before = socket.bytesWritten;
    if (!socket.destroyed) setImmediate(look);
  };
  look();
  return seen;
}

test('a large script is sent in pieces, a few in one turn of the event loop', async (t) => {
  const log = makeLog('silent');
  const server = makeServer({ log, peers: makePeers([]), raw: [] });
  docs(server, [], '1.0.0', log);
  const turns: { mostBytes: number }[] = [];
  server.server.on('connection', (socket) => turns.push(watchTurns(socket)));
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => {
    server.server.closeAllConnections();
    return server.close();
  });

  const answer = await fetch(`${url}/docs/js/scalar.js`);
  const bytes = await answer.arrayBuffer();
  assert.ok(bytes.byteLength > 2 ** 20);
  assert.equal(answer.headers.get('content-length'), String(bytes.byteLength));
  assert.ok(turns[0]!.mostBytes <= 2 * 65_536, `${turns[0]!.mostBytes} bytes in one turn`);
});
