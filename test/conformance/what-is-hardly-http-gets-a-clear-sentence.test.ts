import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { quarterdeck } from '../harness/index.ts';
import { refusal } from './judge.ts';
import { parse, raw } from './wire.ts';

test('what is hardly HTTP gets a clear sentence', async (t) => {
  const { url, owner } = await quarterdeck(t);
  const post = (headers: string, body = '') =>
    `POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.key}\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`;
  const malformed = 'this is not a well-formed HTTP request';

  const table: [what: string, bytes: string, status: number, sentence: string][] = [
    ['no request line', 'HELLO\r\n\r\n', 400, malformed],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n', 400, malformed],
    ['a space in the path', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n', 400, malformed],
    ['a version of the future', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n', 400, malformed],
    ['TLS on the plain port', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, malformed],
    ['two lengths at once', post('Content-Length: 3\r\nTransfer-Encoding: chunked', '0\r\n\r\n'), 400, malformed],
    ['a negative length', post('Content-Length: -1'), 400, malformed],
    ['a chunk without a size', post('Transfer-Encoding: chunked', 'zz\r\n'), 400, malformed],
    ['a header bomb', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'the headers are larger than 16 KiB'],
    ['a URL bomb', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'the headers are larger than 16 KiB'],
    ['no Host', 'GET /api/v1/me HTTP/1.1\r\n\r\n', 400, 'the Host header is missing; HTTP/1.1 needs one'],
  ];
  for (const [what, bytes, status, sentence] of table) {
    const answer = parse(await raw(url, (socket) => socket.write(bytes, 'latin1')));
    assert.deepEqual([answer.status, refusal(answer)], [status, sentence], what);
  }
  assert.equal((await owner.get('/me')).status, 200);
});

test('a body that is cut off ends nothing but itself', async (t) => {
  const { url, owner } = await quarterdeck(t);
  const head = `POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"name":"half`;
  const { port } = new URL(url);
  for (let i = 0; i < 5; i++) {
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(head, () => socket.destroy());
    await once(socket, 'close');
  }
  const { tokens } = (await owner.get('/tokens')).body as { tokens: { name: string }[] };
  assert.ok(!tokens.some((x) => x.name.startsWith('half')));
});

for (const roles of ['api', 'registry'])
  test(`a body that does not arrive within 30 seconds is given up, by a process with the role ${roles}`, async (t) => {
    const { url, owner } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: roles } });
    const waits: (() => void)[] = [];
    const real = globalThis.setTimeout;
    t.mock.method(globalThis, 'setTimeout', ((act: () => void, ms: number) => {
      if (ms === 30_000 && new Error().stack?.includes('readBody')) waits.push(act); // tasks have such a deadline too
      return real(act, ms);
    }) as typeof setTimeout);

    const head = `POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.key}\r\nContent-Type: application/json\r\nContent-Length: 100`;
    const slow = raw(url, (socket) => socket.write(`${head}\r\n\r\n{`));
    while (!waits.length) await turn();
    assert.equal(waits.length, 1);
    waits[0]!(); // the 30 seconds are over

    const answer = parse(await slow);
    assert.deepEqual([answer.status, refusal(answer)], [408, 'the body did not arrive within 30 seconds']);
    assert.equal(answer.headers.connection, 'close');
  });

test('a refused client that does not close is cut off after a while', { timeout: 60_000 }, async (t) => {
  const { url } = await quarterdeck(t);
  const waits: (() => void)[] = [];
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', ((act: () => void, ms: number) => {
    if (ms === 5_000) waits.push(act);
    return real(act, ms);
  }) as typeof setTimeout);

  for (const bytes of ['HELLO\r\n\r\n', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n']) {
    waits.length = 0;
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {}); // a reset is what we wait for
    socket.write(bytes);
    await once(socket.resume(), 'end');
    assert.ok(waits.length, bytes);
    for (const act of waits) act(); // the 5 seconds are over
    while (!socket.closed) {
      socket.write('still here');
      await turn();
    }
    await closed;
  }
});
