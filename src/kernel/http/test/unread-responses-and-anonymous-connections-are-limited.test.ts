import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Registry } from 'prom-client';
import { makeLog } from '../../log.ts';
import { type ConnectionLimits, Connections, connectionLimits, markKnown, skipUnreadCheck } from '../connections.ts';
import { makePeers } from '../peer.ts';
import { makeServer } from '../server.ts';

const large = Buffer.alloc(16 * 2 ** 20);

async function serve(t: TestContext, limits: Partial<ConnectionLimits>, proxies: string[] = []) {
  const registry = new Registry();
  let begun = 0;
  const peers = makePeers(proxies);
  const server = makeServer({
    log: makeLog('silent'),
    peers,
    connections: new Connections(peers, { ...connectionLimits, ...limits }, registry),
    raw: [
      (request, response) => {
        begun++;
        if (request.headers.authorization) markKnown(request);
        if (request.url === '/blob') response.once('close', skipUnreadCheck(response)!);
        if (request.url !== '/held') response.end(request.url === '/' ? 'hello\n' : large);
        return true;
      },
    ],
  });
  t.after(() => {
    server.server.closeAllConnections();
    return server.close();
  });
  const port = Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port);
  const dial = async (path?: string) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    const before = begun;
    if (path) socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    while (path && begun === before) await new Promise((later) => setImmediate(later));
    return socket;
  };
  const closed = async (reason: string) =>
    Number(new RegExp(`closed_total\\{reason="${reason}"\\} (\\d+)`).exec(await registry.metrics())?.[1] ?? 0);
  return { dial, closed };
}

/** Sends a request and waits for the first event: the response or the close. */
const ask = async (socket: Socket, headers = '') => {
  socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
  const [chunk] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => ['closed'])]);
  return /hello/.test(String(chunk)) ? 'answered' : 'closed';
};

test('an unread response is cut; one that is read slowly, or that checks itself, is not', async (t) => {
  const { dial, closed } = await serve(t, { unreadMs: 400 });
  const unread = await dial('/large');
  unread.pause();
  const blob = await dial('/blob');
  blob.pause();
  const slow = await dial('/large');
  let read = 0;
  slow.on('data', (chunk: Buffer) => {
    read += chunk.length;
    slow.pause();
    setTimeout(() => slow.resume(), 1);
  });
  while ((await closed('unread')) === 0) await new Promise((later) => setTimeout(later, 20));
  unread.resume();
  await once(unread, 'close');
  while (read < large.length) await new Promise((later) => setTimeout(later, 20));
  assert.equal(await closed('unread'), 1, 'neither the slow one nor the blob');
});

test('an address has so many connections without a login: the oldest idle one goes first, and none that is busy', async (t) => {
  const { dial, closed } = await serve(t, { anonymousPerAddress: 3 });
  const known = await dial();
  assert.equal(await ask(known, 'Authorization: Bearer x\r\n'), 'answered');
  const busy = await dial('/held');
  const [oldest, younger] = [await dial(), await dial()];
  assert.deepEqual(
    [await ask(oldest), await ask(younger), await closed('idle')],
    ['answered', 'answered', 0],
    'one that is known does not count',
  );
  await dial('/held');
  await once(oldest, 'close');
  await dial('/held');
  await once(younger, 'close');
  assert.equal(await ask(await dial()), 'closed', 'all are busy');
  assert.deepEqual([busy.destroyed, await ask(known), await closed('idle'), await closed('refused')], [false, 'answered', 2, 1]);
});

test('anonymous connections leave a reserve for known addresses; a trusted proxy is not limited', async (t) => {
  const strict = { anonymousPerAddress: 100, anonymousInAll: 2, inAll: 6 };
  const { dial } = await serve(t, strict);
  const known = await dial();
  assert.equal(await ask(known, 'Authorization: Bearer x\r\n'), 'answered');
  const [, second] = [await dial('/held'), await dial('/held')];
  const third = await dial();
  assert.equal(await ask(third), 'answered', 'its address is known');
  assert.equal(second.destroyed, false);

  const strangers = await serve(t, strict);
  await strangers.dial('/held');
  await strangers.dial('/held');
  assert.equal(await ask(await strangers.dial()), 'closed');

  const behind = await serve(t, strict, ['127.0.0.1']);
  for (let n = 0; n < 5; n++) await behind.dial('/held');
  assert.equal(await ask(await behind.dial()), 'answered');
});
