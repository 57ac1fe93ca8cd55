import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { acmeScene, askForOrder, becomes, isIssued, presentsIssued, publicHost } from './support.ts';

/** How a handshake that offers only the authority's protocol ends. */
async function offerProof(port: number, servername: string): Promise<string> {
  const socket = tls.connect({ host: '127.0.0.1', port, servername, ALPNProtocols: ['acme-tls/1'], rejectUnauthorized: false });
  return new Promise((resolve) => socket.once('secureConnect', () => resolve('secure')).once('error', ({ message }) => resolve(message)));
}

test('without plain HTTP, a name is proven by TLS on the main port, beside its clients', async (t) => {
  const { authority, env, ports } = await acmeScene(t, { QUARTERDECK_HTTP_LISTEN: '' });
  const qd = await quarterdeck(t, { env });
  await becomes(qd.app, publicHost, isIssued);
  assert.deepEqual(authority.looked, [`tls-alpn-01 ${publicHost} valid`]);
  const first = await presentsIssued(ports.tls, publicHost);

  // While a proof is open, other clients get the certificate, and no other name is proven.
  let during: string[] = [];
  authority.manner.before = async (what) => {
    if (what !== 'challenge') return;
    const { fingerprint256 } = await presentsIssued(ports.tls, publicHost);
    during = [fingerprint256, await offerProof(ports.tls, publicHost), await offerProof(ports.tls, 'other.example.com')];
  };
  await askForOrder(qd.app, publicHost);
  await presentsIssued(ports.tls, publicHost, first);
  assert.equal(during[0], first.fingerprint256);
  assert.equal(during[1], 'secure');
  assert.match(during[2]!, /disconnected|reset/);
  assert.match(await offerProof(ports.tls, publicHost), /disconnected|reset/, 'the proof is gone with its order');

  // A first message in pieces, and one that is none.
  const [answered, refused] = await Promise.all([helloInPieces(t, ports.tls), notHello(ports.tls)]);
  assert.equal(answered, first.subject);
  assert.doesNotMatch(refused, /HTTP/, 'an alert, or the end');
});

async function helloInPieces(t: { after(act: () => void): void }, port: number): Promise<string> {
  const relay = createServer((client) => {
    const server = connect(port, '127.0.0.1').setNoDelay();
    client
      .on('error', () => server.destroy())
      .on('data', async (bytes: Buffer) => {
        for (const piece of [bytes.subarray(0, 3), bytes.subarray(3, 60), bytes.subarray(60)]) {
          server.write(piece);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      });
    server.on('error', () => client.destroy()).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.after(() => relay.close());
  const socket = tls.connect({
    host: '127.0.0.1',
    port: (relay.address() as { port: number }).port,
    servername: publicHost,
    rejectUnauthorized: false,
  });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerX509Certificate()!;
  socket.destroy();
  return subject;
}

async function notHello(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: qd.example.com\r\n\r\n');
  let heard = '';
  socket.on('data', (text) => (heard += text));
  await once(socket, 'close');
  return heard;
}
