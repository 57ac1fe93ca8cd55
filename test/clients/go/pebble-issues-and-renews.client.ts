import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync, type X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import https from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import tls from 'node:tls';
import { quarterdeckCli } from '../../../src/admin/test/support.ts';
import { issueCertificate } from '../../../src/kernel/x509/issue.ts';
import { presentedBy } from '../../fakes/acme.ts';
import { type FakeDns, fakeDns } from '../../fakes/dns.ts';
import { freePort } from '../../harness/free-port.ts';
import { eventually, type ServerProcess, scratch, serverProcess } from '../../harness/process.ts';

const host = 'qd.example.com';
const mailHost = 'mail.example.com';
const day = 86_400_000;

interface Ports {
  http: number;
  tls: number;
}

interface Pebble {
  directory: string;
  /** For NODE_EXTRA_CA_CERTS: the authority of its own address. */
  trusted: string;
  /** The root of what it issues, in PEM. */
  root(): Promise<string>;
}

/** A certificate of 127.0.0.1 for Pebble itself, by an authority that the server is told to trust. */
async function writeTls(dir: string) {
  const span = { from: new Date(Date.now() - day), until: new Date(Date.now() + 30 * day) };
  const [authority, own] = [generateKeyPairSync('ec', { namedCurve: 'P-256' }), generateKeyPairSync('ec', { namedCurve: 'P-256' })];
  const issuer = { commonName: 'Pebble’s address' };
  const ca = issueCertificate({
    subject: issuer,
    issuer,
    publicKey: authority.publicKey,
    signingKey: authority.privateKey,
    isAuthority: true,
    ...span,
  });
  const cert = issueCertificate({
    subject: { commonName: 'pebble' },
    issuer,
    publicKey: own.publicKey,
    signingKey: authority.privateKey,
    usages: ['server'],
    hosts: ['127.0.0.1'],
    ...span,
  });
  const files = { ca: join(dir, 'ca.pem'), cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };
  await Promise.all([
    writeFile(files.ca, ca),
    writeFile(files.cert, cert),
    writeFile(files.key, own.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string),
  ]);
  return { files, ca };
}

/** Pebble, which finds every name on loopback and refuses a third of all nonces. */
async function pebble(t: TestContext, dir: string, dns: FakeDns, ports: Ports): Promise<Pebble> {
  const { files, ca } = await writeTls(dir);
  const [port, management] = [await freePort(), await freePort()];
  const config = join(dir, 'pebble.json');
  await writeFile(
    config,
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${management}`,
        certificate: files.cert,
        privateKey: files.key,
        httpPort: ports.http,
        tlsPort: ports.tls,
        ocspResponderURL: '',
        retryAfter: { authz: 1, order: 1 },
        keyAlgorithm: 'ecdsa',
        domainBlocklist: ['blocked.example.com'],
        profiles: { default: { description: 'ninety days', validityPeriod: 7_776_000 } },
      },
    }),
  );
  const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '33', PEBBLE_AUTHZREUSE: '0' };
  const child = spawn('pebble', ['-strict', '-config', config, '-dnsserver', dns.address], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (said += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
  t.after(() => child.kill('SIGKILL'));
  const get = (url: string) =>
    new Promise<string>((resolve, reject) => {
      https
        .get(url, { ca, agent: false }, (response) => {
          let text = '';
          response
            .setEncoding('utf8')
            .on('data', (part) => (text += part))
            .on('end', () => resolve(text));
        })
        .on('error', reject);
    });
  const directory = `https://127.0.0.1:${port}/dir`;
  await eventually(() => get(directory)).catch(() => assert.fail(said));
  return { directory, trusted: files.ca, root: () => get(`https://127.0.0.1:${management}/roots/0`) };
}

const issuedBy = (port: number, name: string, before?: X509Certificate) =>
  eventually(
    async () => {
      const found = await presentedBy(port, name);
      return /Pebble/.test(found.issuer) && found.checkHost(name) && found.fingerprint256 !== before?.fingerprint256 ? found : undefined;
    },
    { withinMs: 60_000 },
  );

test('Pebble issues the first certificate, renews it, and goes on with a server that was killed', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const ports = { http: await freePort(), tls: await freePort() };
  const dns = await fakeDns(t, { [host]: { A: ['127.0.0.1'], AAAA: [] }, [mailHost]: { A: ['127.0.0.1'], AAAA: [] } });
  const authority = await pebble(t, dir, dns, ports);
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
