import assert from 'node:assert/strict';
import { once } from 'node:events';
import test, { type TestContext } from 'node:test';
import { createSecureContext, TLSSocket } from 'node:tls';
import { type GuardFailure, makeGuard, makeOperatorGuard, parseAllow } from '../index.ts';
import { authority, type Certificate } from './certificates.ts';
import { names } from './internet.ts';
import { tcpServer } from './servers.ts';

const ca = authority('Test Authority');
const right = ca.issue(['mx.example.org']);
const context = createSecureContext({ ca: ca.cert });
const guard = makeGuard({
  allow: parseAllow('mx=127.0.0.0/8'),
  resolver: names({ 'mx.example.org': ['127.0.0.1'], 'other.example.org': ['127.0.0.1'] }),
});

/** Says one line in the clear; after the first line of the client it speaks TLS, and says back what it hears. */
const upgrading = (t: TestContext, certificate: Certificate | 'silent' | 'nonsense') =>
  tcpServer(t, (socket) => {
    socket.write('220 ready\r\n');
    socket.once('data', () => {
      if (certificate === 'silent') return;
      if (certificate === 'nonsense') return void socket.write('454 not today\r\n'.repeat(3));
      socket.write('220 go on\r\n');
      const secure = new TLSSocket(socket, { isServer: true, cert: certificate.cert, key: certificate.key });
      secure.on('error', () => {}).on('data', (heard) => secure.write(heard));
    });
  });

async function afterGreeting(port: number, host = 'mx.example.org', answers = true) {
  const connection = await guard.connectTcp('mx', host, port);
  await once(connection.socket, 'data');
  connection.socket.write('STARTTLS\r\n');
  if (answers) await once(connection.socket, 'data');
  return connection;
}

test('a judged connection turns to TLS when it is asked to, and keeps its address', async (t) => {
  const connection = await afterGreeting(await upgrading(t, right));
  const secured = await guard.startTls(connection, 'mx.example.org', { tls: { context } });
  assert.equal(secured.address, '127.0.0.1');
  assert.equal(secured.socket.authorized, true);
  assert.ok(secured.phases.tls !== undefined && secured.phases.connect !== undefined);
  secured.socket.write('hello');
  assert.equal(String((await once(secured.socket, 'data'))[0]), 'hello');
  secured.socket.destroy();
});

test('the certificate must be for the name that was asked for', async (t) => {
  const connection = await afterGreeting(await upgrading(t, right), 'other.example.org');
  await assert.rejects(guard.startTls(connection, 'other.example.org', { tls: { context } }), { kind: 'tls_certificate' });
  assert.equal(connection.socket.destroyed, true);
});

test('where any certificate will do, the caller learns whether it was a good one', async (t) => {
  const connection = await afterGreeting(await upgrading(t, authority('Stranger').issue(['mx.example.org'])));
  const secured = await guard.startTls(connection, 'mx.example.org', { tls: { context, rejectUnauthorized: false } });
  assert.equal(secured.socket.authorized, false);
  secured.socket.destroy();
});

test('an opinion that cannot be formed is a refusal, and ends nothing else', async (t) => {
  const connection = await afterGreeting(await upgrading(t, right));
  const refuse = () => {
    throw new Error('a certificate with a key of no known kind');
  };
  await assert.rejects(guard.startTls(connection, 'mx.example.org', { tls: { context, refuse } }), { kind: 'tls_certificate' });
  assert.equal(connection.socket.destroyed, true);
});

test('an opinion of the caller’s own refuses what it was shown', async (t) => {
  const port = await upgrading(t, right);
  const seen: (string | undefined)[] = [];
  const refuse = (socket: TLSSocket) => {
    seen.push(socket.getPeerX509Certificate()?.subjectAltName);
    return seen.length === 1 ? 'the certificate is not the one that the DNS names' : null;
  };
  const tls = { context, rejectUnauthorized: false, refuse };
  const refused = await afterGreeting(port);
  await assert.rejects(guard.startTls(refused, 'mx.example.org', { tls }), {
    kind: 'tls_certificate',
    message: 'the certificate is not the one that the DNS names',
  });
  assert.equal(refused.socket.destroyed, true);
  (await guard.startTls(await afterGreeting(port), 'mx.example.org', { tls })).socket.destroy();
  assert.deepEqual(seen, ['DNS:mx.example.org', 'DNS:mx.example.org']);
});

test('a server that is silent or talks on in the clear fails the handshake, and the connection is closed', async (t) => {
  for (const [manner, kind] of [
    ['silent', 'timeout'],
    ['nonsense', 'tls_handshake'],
  ] as const) {
    const connection = await afterGreeting(await upgrading(t, manner), 'mx.example.org', false);
    const failure = await guard.startTls(connection, 'mx.example.org', { connectMs: 200, tls: { context } }).then(
      () => assert.fail('there is no TLS'),
      (error: GuardFailure) => error,
    );
    assert.equal(failure.kind, kind);
    assert.equal(connection.socket.destroyed, true);
  }
});

test('what the operator configured may be at a private address, but never where the cloud keeps its keys', async (t) => {
  const operators = makeOperatorGuard([]);
  const { socket } = await operators.connectTcp('smarthost', '127.0.0.1', await upgrading(t, right));
  socket.destroy();
  await assert.rejects(operators.connectTcp('smarthost', '169.254.169.254', 25), { kind: 'address' });
  await assert.rejects(guard.connectTcp('uptime', '127.0.0.1', 25), { kind: 'address' });
});
