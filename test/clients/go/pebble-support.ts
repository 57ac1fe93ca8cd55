import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync, type X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import https from 'node:https';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { issueCertificate } from '../../../src/kernel/x509/issue.ts';
import { presentedBy } from '../../fakes/acme.ts';
import type { FakeDns } from '../../fakes/dns.ts';
import { freePort } from '../../harness/free-port.ts';
import { eventually } from '../../harness/process.ts';

const day = 86_400_000;

export interface Ports {
  http: number;
  tls: number;
}

export interface Pebble {
  directory: string;
  /** For NODE_EXTRA_CA_CERTS: the authority of its own address. */
  trusted: string;
  /** The same in PEM. */
  ca: string;
  /** Ends it, and starts another one at its address, which knows no account and has another root. */
  restart(): Promise<void>;
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

export const blockedHost = 'blocked.example.com';

export interface PebbleOptions {
  dir: string;
  dns: FakeDns;
  ports: Ports;
  /** The accounts of customers that it asks for, by key id: keys in base64url. */
  external?: Record<string, string>;
}

/** Pebble, which finds every name on loopback and refuses a third of all nonces. */
export async function pebble(t: TestContext, { dir, dns, ports, external }: PebbleOptions): Promise<Pebble> {
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
        domainBlocklist: [blockedHost],
        ...(external ? { externalAccountBindingRequired: true, externalAccountMACKeys: external } : {}),
        profiles: { default: { description: 'ninety days', validityPeriod: 7_776_000 } },
      },
    }),
  );
  const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '33', PEBBLE_AUTHZREUSE: '0' };
  const start = () => {
    const child = spawn('pebble', ['-strict', '-config', config, '-dnsserver', dns.address], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  let said = '';
  let running = start();
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
  const untilReady = () => eventually(() => get(directory)).catch(() => assert.fail(said));
  await untilReady();
  return {
    directory,
    trusted: files.ca,
    ca,
    root: () => get(`https://127.0.0.1:${management}/roots/0`),
    async restart() {
      running.kill('SIGKILL');
      await once(running, 'exit');
      running = start();
      await untilReady();
    },
  };
}

/** What a port presents for a name once Pebble has issued it: another certificate than `before`. */
export const issuedBy = (port: number, name: string, before?: X509Certificate) =>
  eventually(
    async () => {
      const found = await presentedBy(port, name);
      return /Pebble/.test(found.issuer) && found.checkHost(name) && found.fingerprint256 !== before?.fingerprint256 ? found : undefined;
    },
    { withinMs: 60_000 },
  );
