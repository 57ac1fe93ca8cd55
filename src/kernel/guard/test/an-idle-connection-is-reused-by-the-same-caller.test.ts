import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tcpConnector } from '../connector.ts';
import { type FetchOptions, makeGuard, parseAllow } from '../index.ts';
import { httpServer, tcpServer } from './servers.ts';

const allow = parseAllow('127.0.0.0/8');

/** A server that says on which of its connections it was asked, and a guard that asks it. */
async function asked(t: TestContext, answer: RequestListener = (_request, response) => response.end('taken')) {
  const connections: Socket[] = [];
  const heard: string[] = [];
  const port = await httpServer(t, (request, response) => {
    if (!connections.includes(request.socket)) connections.push(request.socket);
    heard.push(`${request.url} on ${connections.indexOf(request.socket)}, ${request.headers.connection}`);
    request.resume();
    answer(request, response);
  });
  const guard = makeGuard({ allow });
  const ask = async (path: string, keptFor?: string, options: FetchOptions = {}, use = 'webhook') => {
    const given = { method: 'POST', body: '{}', ...(keptFor === undefined ? {} : { keptFor }), ...options };
    const response = await guard.fetch(use, `http://127.0.0.1:${port}${path}`, given);
    const text = await response.text();
    await sleep(1); // Node gives a connection back after the answer's end
    return text;
  };
  return { ask, heard, connections, guard, port };
}

test('the same caller reuses the connection, and no other caller does', async (t) => {
  const { ask, heard, port } = await asked(t);
  await ask('/1', 'a');
  await ask('/2', 'a');
  await ask('/3', 'b');
  await ask('/4', 'a', {}, 'oidc');
  await ask('/5');
  await ask('/6', 'a');
  assert.deepEqual(heard, [
    ...['/1 on 0, keep-alive', '/2 on 0, keep-alive', '/3 on 1, keep-alive', '/4 on 2, keep-alive'],
    ...['/5 on 3, close', '/6 on 0, keep-alive'],
  ]);
  const elsewhere = makeGuard({ allow });
  await (await elsewhere.fetch('webhook', `http://127.0.0.1:${port}/7`, { keptFor: 'a' })).text();
  assert.equal(heard.at(-1), '/7 on 4, keep-alive', 'another guard has connections of its own');
});

test('requests side by side have a connection each', async (t) => {
  const { ask, connections } = await asked(t, (_request, response) => void setTimeout(() => response.end(), 50));
  await Promise.all(['/1', '/2', '/3'].map((path) => ask(path, 'a')));
  await Promise.all(['/4', '/5', '/6'].map((path) => ask(path, 'a')));
  assert.equal(connections.length, 3);
});

test('a peer that has closed it meanwhile is asked once more, on a new one', async (t) => {
  let requests = 0;
  const port = await tcpServer(t, (socket) => {
    let isFirst = true;
    socket.on('data', () => {
      requests++;
      if (!isFirst) return void socket.resetAndDestroy(); // the server had decided before it read the request
      isFirst = false;
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
  });
  const guard = makeGuard({ allow });
  const ask = async () => {
    const text = await (await guard.fetch('webhook', `http://127.0.0.1:${port}/`, { method: 'POST', body: 'x', keptFor: 'a' })).text();
    await sleep(1);
    return text;
  };
  assert.deepEqual([await ask(), await ask()], ['ok', 'ok']);
  assert.equal(requests, 3);
});

test('a new connection that is closed without an answer is a failure, as ever', async (t) => {
  let connections = 0;
  const port = await tcpServer(t, (socket) => {
    connections++;
    socket.on('data', () => socket.destroy());
  });
  const guard = makeGuard({ allow });
  const asking = guard.fetch('webhook', `http://127.0.0.1:${port}/`, { method: 'POST', body: 'x', keptFor: 'a' });
  await assert.rejects(asking, { kind: 'connection_reset' });
  assert.equal(connections, 1);
});

test('what a peer says unasked is not taken for an answer', async (t) => {
  const planted = 'HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nplanted';
  const sockets: Socket[] = [];
  const port = await tcpServer(t, (socket) => {
    sockets.push(socket);
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue'));
  });
  const guard = makeGuard({ allow });
  const ask = async () => (await guard.fetch('webhook', `http://127.0.0.1:${port}/`, { keptFor: 'a' })).text();
  assert.equal(await ask(), 'true');
  const closed = once(sockets[0]!, 'close');
  sockets[0]!.write(planted);
  await closed;
  assert.equal(await ask(), 'true');
  assert.equal(sockets.length, 2);
});

test('an unread response returns its connection if it is short, and closes it if it is not', async (t) => {
  const bodies: Record<string, RequestListener> = {
    '/short': (_request, response) => response.end('x'.repeat(1_000)),
    '/long': (_request, response) => response.end('x'.repeat(100_000)),
    '/endless': (_request, response) => void response.write('and then'),
  };
  const { guard, port, connections, heard } = await asked(t, (request, response) => bodies[request.url!]!(request, response));
  const tell = async (path: string) => {
    (await guard.fetch('webhook', `http://127.0.0.1:${port}${path}`, { keptFor: 'a' })).cancel();
    await sleep(20);
  };
  await tell('/short');
  await tell('/endless');
  assert.deepEqual(heard, ['/short on 0, keep-alive', '/endless on 0, keep-alive']);
  await once(connections[0]!, 'close'); // after a moment, not after the timeout of the whole request
  await tell('/long');
  await tell('/short');
  assert.deepEqual(heard.slice(2), ['/long on 1, keep-alive', '/short on 2, keep-alive']);
});

/** A server that sends raw bytes: its responses by connection, in turn; and the number of its connections. */
async function speaking(t: TestContext, ...turns: ((socket: Socket) => void)[]) {
  let connections = 0;
  const port = await tcpServer(t, (socket) => {
    connections++;
    let turn = 0;
    socket.on('data', () => turns[Math.min(turn++, turns.length - 1)]!(socket));
  });
  const guard = makeGuard({ allow });
  const ask = async () => {
    const text = await (await guard.fetch('webhook', `http://127.0.0.1:${port}/`, { keptFor: 'a' })).text();
    await sleep(1);
    return text;
  };
  return { ask, count: () => connections };
}

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

test('what is wrong with a connection that was left open is not held against the next request', async (t) => {
  const wrong = {
    nonsense: (socket: Socket) => void socket.write('0\r\n\r\n'),
    'that it waited too long': (socket: Socket) => void socket.end('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n'),
  };
  for (const [name, say] of Object.entries(wrong)) {
    const { ask, count } = await speaking(t, (socket) => void socket.write(ok), say);
    assert.deepEqual([await ask(), await ask(), count()], ['ok', 'ok', 2], name);
  }
});

test('what follows the end of an answer in its packet is never a part of it, nor makes it empty', async (t) => {
  const { ask } = await speaking(t, (socket) => void socket.write(`${ok}junk`));
  assert.equal(await ask().catch(({ kind }) => kind), 'protocol');
});

test('a peer that answers and reads nothing is left when the time for the whole is over', async (t) => {
  const port = await tcpServer(t, (socket) => void socket.pause().write(ok));
  const closed = Promise.withResolvers<void>();
  const guard = makeGuard({
    allow,
    connector: async (...where) => {
      const socket = await tcpConnector(...where);
      socket.once('close', () => closed.resolve());
      return socket;
    },
  });
  const body = Buffer.alloc(16 * 2 ** 20);
  const given = { method: 'POST', body, keptFor: 'a', timeouts: { totalMs: 1_000 } };
  const asked = await guard.fetch('webhook', `http://127.0.0.1:${port}/`, given);
  asked.cancel();
  const waiting = setTimeout(() => {}, 60_000); // the deadline itself keeps no process
  await closed.promise;
  clearTimeout(waiting);
});

test('a caller with its own TLS options cannot reuse connections', async () => {
  const guard = makeGuard({ allow });
  const asking = guard.fetch('webhook', 'https://127.0.0.1:1/', { keptFor: 'a', tls: { rejectUnauthorized: false } });
  await assert.rejects(asking, { kind: 'request' });
});
