import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import test from 'node:test';
import { makeGuard, type Phase, parseAllow } from '../index.ts';
import { loopback, recorder, says, somewhere } from './internet.ts';
import { httpServer, tcpServer } from './servers.ts';

const guard = makeGuard({ allow: parseAllow('127.0.0.0/8') });

test('a request arrives as it was meant', async (t) => {
  const seen: { request: IncomingMessage; body: string }[] = [];
  const port = await httpServer(t, async (request, response) => {
    seen.push({ request, body: Buffer.concat(await request.toArray()).toString() });
    response.writeHead(201, { 'x-answer': 'yes' }).end('{"ok":true}');
  });
  const { connector } = loopback(() => port);
  const public_ = makeGuard({ resolver: says(somewhere), connector });
  const url = 'http://EXAMPLE.org./p%20q/ü?a=b&c#secret';
  const response = await public_.fetch('webhook', url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"é":1}',
  });
  assert.deepEqual([response.status, response.headers['x-answer'], await response.json()], [201, 'yes', { ok: true }]);
  assert.equal(response.url, 'http://example.org/p%20q/%C3%BC?a=b&c');
  const { request, body } = seen[0]!;
  assert.deepEqual([request.method, request.url, body], ['POST', '/p%20q/%C3%BC?a=b&c', '{"é":1}']);
  assert.deepEqual(request.rawHeaders, [
    ...['host', 'example.org', 'accept', '*/*', 'user-agent', 'Quarterdeck', 'accept-encoding', 'gzip, br, zstd'],
    ...['content-type', 'application/json', 'content-length', '8', 'Connection', 'close'],
  ]);
});

test('what frames the message cannot be set, nor lines be broken', async () => {
  const { connector, reached } = recorder();
  const strict = makeGuard({ resolver: says(somewhere), connector });
  const bad: Record<string, string>[] = [
    ...['Host', 'CONNECTION', 'content-length', 'Transfer-Encoding', 'upgrade', 'TE', 'trailer', 'Expect', 'keep-alive'].map((name) => ({
      [name]: '1',
    })),
    ...['proxy-authorization', 'Proxy-Connection', 'http2-settings'].map((name) => ({ [name]: '1' })),
    ...['a b', 'a:', '', 'a\r\nb', 'ä', 'a\0'].map((name) => ({ [name]: '1' })),
    ...['a\r\nhost: b', 'a\nb', 'a\rb', 'a\0', '☃', '\u007f'].map((value) => ({ 'x-a': value })),
  ];
  for (const headers of bad)
    await assert.rejects(strict.fetch('uptime', 'http://example.org/', { headers }), { name: 'GuardRefusal', kind: 'request' });
  for (const method of ['CONNECT', 'TRACE', 'get', 'GET / HTTP/1.1\r\n\r\nGET', '', 'PRI']) {
    await assert.rejects(strict.fetch('uptime', 'http://example.org/', { method }), { name: 'GuardRefusal', kind: 'request' });
  }
  assert.deepEqual(reached, []);
});

test('a refusal repeats no secret of the URL', async () => {
  const strict = makeGuard({ resolver: says('10.0.0.1'), connector: recorder().connector });
  for (const url of [
    'http://u:s3cret@example.org/',
    'http://example.org/?s3cret',
    'http://s3cret:x/y',
    'ftp://s3cret/',
    `http://a/${'s3cret'.repeat(2000)}`,
  ]) {
    await assert.rejects(
      strict.fetch('webhook', url),
      (error: Error) => !error.message.includes('s3cret') && error.name === 'GuardRefusal',
    );
  }
});

test('phases are told as they pass, also of a request that fails', async (t) => {
  const port = await httpServer(t, (_request, response) => response.end('hello'));
  const told: [Phase, number][] = [];
  const onPhase = (phase: Phase, ms: number, hop: number) => {
    assert.ok(ms >= 0 && ms < 5000);
    told.push([phase, hop]);
  };
  const response = await guard.fetch('uptime', `http://127.0.0.1:${port}/`, { onPhase });
  assert.equal(response.hops[0]!.phases.transfer, undefined);
  await response.text();
  assert.deepEqual(told, [
    ['resolve', 0],
    ['connect', 0],
    ['firstByte', 0],
    ['transfer', 0],
  ]);
  assert.deepEqual(Object.keys(response.hops[0]!.phases), ['resolve', 'connect', 'firstByte', 'transfer']);

  told.length = 0;
  const closing = await tcpServer(t, (socket) => socket.destroy());
  await assert.rejects(guard.fetch('uptime', `http://127.0.0.1:${closing}/`, { onPhase }), { kind: 'connection_reset' });
  assert.deepEqual(told, [
    ['resolve', 0],
    ['connect', 0],
  ]);
});

test('raw TCP carries bytes both ways, and a reset does not crash the process', async (t) => {
  const port = await tcpServer(t, (socket) => {
    socket.once('data', (data) => socket.write(`you said ${data}`, () => socket.resetAndDestroy()));
  });
  const { socket, address, family, phases } = await guard.connectTcp('uptime', '127.0.0.1', port);
  assert.deepEqual([address, family, Object.keys(phases)], ['127.0.0.1', 4, ['resolve', 'connect']]);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write('ahoy');
  const heard = new Promise((resolve) => socket.once('data', resolve));
  assert.equal(String(await heard), 'you said ahoy');
  await closed;
});

test('a closed port is a refused connection', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(guard.connectTcp('uptime', '127.0.0.1', port), {
    name: 'GuardFailure',
    kind: 'connection_refused',
    phase: 'connect',
  });
});

test('what is not JSON is said to be so', async (t) => {
  const port = await httpServer(t, (_request, response) => response.end('<html>'));
  await assert.rejects((await guard.fetch('oidc', `http://127.0.0.1:${port}/`)).json(), {
    kind: 'protocol',
    message: '127.0.0.1 answered with something that is not JSON',
  });
});
