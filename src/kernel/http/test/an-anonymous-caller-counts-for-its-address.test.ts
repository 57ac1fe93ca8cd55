import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentContext } from '../../fairness/index.ts';
import { makeLog } from '../../log.ts';
import { makePeers } from '../peer.ts';
import { makeServer } from '../server.ts';

/** Answers each request with its context key, before and after an await. */
async function askTwice(t: TestContext, trustedProxies: string[], senders: (string | undefined)[]) {
  const raw = (_request: http.IncomingMessage, response: http.ServerResponse) => {
    const before = currentContext().org;
    void nextTurn().then(() => response.end(`${before}, ${currentContext().org}`));
    return true;
  };
  const server = makeServer({ log: makeLog('silent'), peers: makePeers(trustedProxies), raw: [raw] });
  await server.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const said: string[] = [];
  const sockets = new Set<unknown>();
  for (const sender of senders) {
    const { port } = server.server.address() as AddressInfo;
    const headers = sender === undefined ? {} : { 'x-forwarded-for': sender };
    const request = http.get({ host: '127.0.0.1', port, agent, headers });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    sockets.add(request.socket);
    said.push((await response.toArray()).join(''));
  }
  assert.equal(sockets.size, 1, 'all of them come by one connection');
  return said;
}

test('requests of one connection count for its address, whatever they say themselves', async (t) => {
  const here = 'from 127.0.0.1, from 127.0.0.1';
  assert.deepEqual(await askTwice(t, [], [undefined, '192.0.2.1', '192.0.2.2']), [here, here, here]);
});

test('requests that a trusted proxy brings by one connection count for whom it names', async (t) => {
  assert.deepEqual(await askTwice(t, ['127.0.0.1'], ['192.0.2.1', '192.0.2.2', '192.0.2.1']), [
    'from 192.0.2.1, from 192.0.2.1',
    'from 192.0.2.2, from 192.0.2.2',
    'from 192.0.2.1, from 192.0.2.1',
  ]);
});
