import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createSecureContext, createServer } from 'node:tls';
import { makeGuard, parseAllow } from '../../../kernel/guard/index.ts';
import { authority } from '../../../kernel/guard/test/certificates.ts';
import { tcpServer } from '../../../kernel/guard/test/servers.ts';
import type { TcpTarget } from '../../../protocols/agent.ts';
import { checkTcp } from '../checks/check-tcp.ts';
import { tcpTarget } from './support.ts';

const ca = authority('test');
const tls = { context: createSecureContext({ ca: ca.cert }) };
const guard = makeGuard({ allow: parseAllow('127.0.0.0/8') });
const base64 = (text: string) => Buffer.from(text).toString('base64');

const check = (port: number, more: Partial<TcpTarget> = {}, timeoutMs = 2000) =>
  checkTcp(guard, { target: tcpTarget(port, more), timeoutMs, tls });

const tlsServer = (t: Parameters<typeof tcpServer>[0], names: string[], greeting = '') =>
  new Promise<number>((resolve) => {
    const { cert, key } = ca.issue(names, { notAfter: '20310102030405Z' });
    const server = createServer({ cert, key }, (socket) => void socket.on('error', () => {}).write(greeting));
    server.on('tlsClientError', () => {}).listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    t.after(() => void server.close());
  });

test('a connection is enough where nothing is expected', async (t) => {
  const found = await check(await tcpServer(t, () => {}));
  assert.deepEqual([found.outcome, found.family, Object.keys(found.phases!).sort()], ['pass', 4, ['connect', 'resolve']]);
  const port = await tcpServer(t, (socket) => socket.end());
  assert.equal((await check(port)).outcome, 'pass');
});

test('what is sent arrives, and the answer is compared as far as it is expected', async (t) => {
  const port = await tcpServer(t, (socket) => {
    // One byte at a time, then more than was asked for.
    socket.once('data', (said) => {
      socket.write('+PO');
      setImmediate(() => socket.write(`NG for ${said}`));
    });
  });
  const found = await check(port, { sendBase64: base64('PING\r\n'), expectPrefixBase64: base64('+PONG') });
  assert.equal(found.outcome, 'pass');
  assert.ok(found.phases!.firstByte! >= 0);
  const other = await check(port, { sendBase64: base64('PING\r\n'), expectPrefixBase64: base64('+PING') });
  assert.deepEqual([other.outcome, other.errorKind, other.snippet?.startsWith('+PO')], ['fail', 'prefix_mismatch', true]);
});

test('an answer that ends too soon is not the expected one; one that never ends is late', async (t) => {
  const short = await tcpServer(t, (socket) => socket.end('22'));
  const found = await check(short, { expectPrefixBase64: base64('220 ') });
  assert.deepEqual([found.outcome, found.errorKind, found.snippet], ['fail', 'prefix_mismatch', '22']);
  const mute = await check(await tcpServer(t, (socket) => socket.end()), { expectPrefixBase64: base64('220 ') });
  assert.deepEqual(
    [mute.outcome, mute.errorKind, mute.errorDetail],
    ['fail', 'prefix_mismatch', '127.0.0.1 closed the connection without a word'],
  );
  const silent = await check(await tcpServer(t, () => {}), { expectPrefixBase64: base64('220 ') }, 80);
  assert.deepEqual([silent.outcome, silent.errorKind], ['error', 'timeout']);
  assert.ok(silent.latencyMs! >= 79 && silent.latencyMs! < 1000);
  const reset = await tcpServer(t, (socket) => void setTimeout(() => socket.resetAndDestroy(), 20));
  const gone = await check(reset, { expectPrefixBase64: base64('220 ') });
  assert.deepEqual([gone.outcome, gone.errorKind], ['error', 'connection_reset']);
});

test('with TLS the handshake is part of it', async (t) => {
  const found = await check(await tlsServer(t, ['localhost'], '220 mail ready\r\n'), {
    host: 'localhost',
    tls: true,
    expectPrefixBase64: base64('220 '),
  });
  assert.deepEqual([found.outcome, found.certificateUntil], ['pass', Date.UTC(2031, 0, 2, 3, 4, 5)]);
  assert.ok(found.phases!.tls! > 0 && /^TLSv1/.test(found.tlsVersion!));
  const other = await check(await tlsServer(t, ['other.example']), { host: 'localhost', tls: true });
  assert.deepEqual([other.outcome, other.errorKind], ['error', 'tls_certificate']);
  const plain = await check(await tcpServer(t, (s) => void s.on('data', () => s.end('-ERR\r\n'))), { host: 'localhost', tls: true });
  assert.deepEqual([plain.outcome, plain.errorKind], ['error', 'tls_handshake']);
});

test('refused, forbidden and absurd targets are told apart', async (t) => {
  const port = await tcpServer(t, () => {});
  const closed = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address() as AddressInfo;
      server.close(() => resolve(free));
    });
  });
  const kinds = await Promise.all([
    check(closed),
    check(port, { host: '10.0.0.1' }),
    check(port, { host: 'metadata@127.0.0.1' }),
    check(70_000, {}),
    check(port, { host: '2130706433' }),
  ]);
  assert.deepEqual(
    kinds.map(({ errorKind, outcome }) => errorKind ?? outcome),
    ['connection_refused', 'blocked_target', 'blocked_target', 'blocked_target', 'pass'],
  );
});
