import assert from 'node:assert/strict';
import test from 'node:test';
import { createSecureContext, createServer, type TLSSocket } from 'node:tls';
import { makeGuard, parseAllow } from '../index.ts';
import { authority } from './certificates.ts';
import { names } from './internet.ts';
import { httpsServer, tcpServer } from './servers.ts';

const ca = authority('Test Authority');
const right = ca.issue(['right.example.org', '127.0.0.1']);
const guard = makeGuard({
  allow: parseAllow('127.0.0.0/8'),
  resolver: names({ 'right.example.org': ['127.0.0.1'], 'wrong.example.org': ['127.0.0.1'] }),
});
const tls = { context: createSecureContext({ ca: ca.cert }) };

test('certificates are checked against the name asked for', async (t) => {
  const port = await httpsServer(t, right, (request, response) => {
    response.end(JSON.stringify({ host: request.headers.host, servername: (request.socket as TLSSocket).servername }));
  });
  const response = await guard.fetch('uptime', `https://right.example.org:${port}/`, { tls });
  assert.deepEqual(await response.json(), { host: `right.example.org:${port}`, servername: 'right.example.org' });

  await assert.rejects(guard.fetch('uptime', `https://wrong.example.org:${port}/`, { tls }), {
    name: 'GuardFailure',
    kind: 'tls_certificate',
    phase: 'tls',
    message: 'the certificate of wrong.example.org is for another name',
  });
  await assert.rejects(guard.connectTls('uptime', 'wrong.example.org', port, { tls }), { kind: 'tls_certificate' });
});

test('an address is checked against the addresses in the certificate, and sends no server name', async (t) => {
  const port = await httpsServer(t, right, (request, response) => response.end(String((request.socket as TLSSocket).servername)));
  const response = await guard.fetch('uptime', `https://127.0.0.1:${port}/`, { tls });
  assert.equal(await response.text(), 'false');
  const other = await httpsServer(t, ca.issue(['right.example.org']), (_request, response) => response.end());
  await assert.rejects(guard.fetch('uptime', `https://127.0.0.1:${other}/`, { tls }), { kind: 'tls_certificate' });
});

test('a certificate of the unknown, the past and the future is refused', async (t) => {
  const stranger = authority('Stranger').issue(['right.example.org']);
  const expired = ca.issue(['right.example.org'], { notAfter: '20210101000000Z' });
  const early = ca.issue(['right.example.org'], { notBefore: '20980101000000Z' });
  for (const [certificate, sentence] of [
    [stranger, /not trusted/],
    [expired, /has expired/],
    [early, /not valid yet/],
  ] as const) {
    const port = await httpsServer(t, certificate, () => assert.fail('no request may arrive'));
    await assert.rejects(guard.fetch('uptime', `https://right.example.org:${port}/`, { tls }), {
      kind: 'tls_certificate',
      message: sentence,
    });
  }
  const port = await httpsServer(t, right, () => assert.fail('no request may arrive'));
  await assert.rejects(guard.fetch('uptime', `https://right.example.org:${port}/`), { kind: 'tls_certificate' }, 'without the authority');
});

test('where any certificate will do, the caller still learns what was wrong with it', async (t) => {
  const port = await httpsServer(t, right, (_request, response) => response.end());
  const { socket } = await guard.connectTls('mx', 'wrong.example.org', port, { tls: { ...tls, rejectUnauthorized: false } });
  assert.equal(socket.authorized, false);
  assert.equal(String(socket.authorizationError), 'ERR_TLS_CERT_ALTNAME_INVALID');
  socket.destroy();
});

test('a caller may look at the handshake, and give an authority by its text', async (t) => {
  const port = await httpsServer(t, right, (_request, response) => response.end());
  const seen: string[] = [];
  const onSecure = (socket: TLSSocket, hop: number) =>
    seen.push(`${hop} ${socket.getPeerX509Certificate()?.subjectAltName} ${socket.alpnProtocol}`);
  const response = await guard.fetch('uptime', `https://right.example.org:${port}/`, { tls: { ca: ca.cert }, onSecure });
  response.cancel();
  assert.deepEqual(seen, ['0 DNS:right.example.org, IP Address:127.0.0.1 http/1.1']);
});

test('raw TLS carries bytes both ways and tells its phases', async (t) => {
  const server = createServer({ cert: right.cert, key: right.key }, (socket) => socket.on('error', () => {}).pipe(socket));
  const port = await tcpServer(t, (socket) => server.emit('connection', socket));
  const { socket, address, family, phases } = await guard.connectTls('uptime', 'right.example.org', port, { tls });
  assert.deepEqual([address, family, Object.keys(phases)], ['127.0.0.1', 4, ['resolve', 'connect', 'tls']]);
  socket.write('ahoy');
  const [echo] = await socket.take(1).toArray();
  assert.equal(String(echo), 'ahoy');
  socket.destroy();
});

test('what does not speak TLS fails its handshake', async (t) => {
  const plain = await tcpServer(t, (socket) => socket.end('220 mail.example.org ESMTP\r\n'));
  await assert.rejects(guard.connectTls('uptime', 'right.example.org', plain, { tls }), { kind: 'tls_handshake', phase: 'tls' });
  const closing = await tcpServer(t, (socket) => socket.destroy());
  await assert.rejects(guard.connectTls('uptime', 'right.example.org', closing, { tls }), { kind: 'connection_reset' });
  const mute = await tcpServer(t, () => {});
  await assert.rejects(guard.connectTls('uptime', 'right.example.org', mute, { tls, connectMs: 50 }), { kind: 'timeout', phase: 'tls' });
});
