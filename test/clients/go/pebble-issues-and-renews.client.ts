import assert from 'node:assert/strict';
import { test } from 'node:test';
import tls from 'node:tls';
import { quarterdeckCli } from '../../../src/admin/test/support.ts';
import { presentedBy } from '../../fakes/acme.ts';
import { fakeDns } from '../../fakes/dns.ts';
import { freePort } from '../../harness/free-port.ts';
import { type ServerProcess, scratch, serverProcess } from '../../harness/process.ts';
import { issuedBy, pebble } from './pebble-support.ts';

const host = 'qd.example.com';
const mailHost = 'mail.example.com';

test('Pebble issues the first certificate, renews it, and goes on with a server that was killed', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const ports = { http: await freePort(), tls: await freePort() };
  const dns = await fakeDns(t, { [host]: { A: ['127.0.0.1'], AAAA: [] }, [mailHost]: { A: ['127.0.0.1'], AAAA: [] } });
  const authority = await pebble(t, { dir, dns, ports });
  const env = {
    QUARTERDECK_ACME: 'operator@example.com',
    QUARTERDECK_ACME_DIRECTORY: authority.directory,
    QUARTERDECK_PUBLIC_URL: `https://${host}`,
    QUARTERDECK_MAIL_HOST: mailHost,
    QUARTERDECK_LISTEN: `127.0.0.1:${ports.tls}`,
    QUARTERDECK_HTTP_LISTEN: `127.0.0.1:${ports.http}`,
    QUARTERDECK_DNS_SERVERS: dns.address,
    NODE_EXTRA_CA_CERTS: authority.trusted,
  };
  const start = async (more: Record<string, string> = {}): Promise<ServerProcess> => {
    const server = serverProcess(t, { dir, dataDir, env: { ...env, ...more } });
    await server.ready;
    return server;
  };
  const order = async (name: string) => {
    const { code, err } = await quarterdeckCli(['admin', 'certificates', 'order', name], { ...env, QUARTERDECK_DATA: dataDir });
    assert.equal(code, 0, err);
  };

  const server = await start();
  const first = await issuedBy(ports.tls, host);
  await issuedBy(ports.tls, mailHost);
  const client = tls.connect({ host: '127.0.0.1', port: ports.tls, servername: host, ca: await authority.root() });
  await new Promise<void>((resolve, reject) => client.once('secureConnect', resolve).once('error', reject));
  assert.equal(client.authorized, true, 'the chain leads to the root');
  client.destroy();

  await order(host);
  const second = await issuedBy(ports.tls, host, first);
  assert.notEqual(second.serialNumber, first.serialNumber);

  // Killed with an order under way, perhaps: the certificate that is there is presented at once, and the next one comes.
  await order(host);
  await server.killed();
  const next = await start();
  assert.equal((await presentedBy(ports.tls, host)).issuer.includes('Pebble'), true);
  const third = await issuedBy(ports.tls, host, second);
  assert.equal(await next.stopped(), 0);

  // Without plain HTTP: by TLS-ALPN-01.
  await start({ QUARTERDECK_HTTP_LISTEN: '' });
  await order(mailHost);
  const before = await presentedBy(ports.tls, mailHost);
  await issuedBy(ports.tls, mailHost, before);
  assert.equal((await presentedBy(ports.tls, host)).fingerprint256, third.fingerprint256);
});
