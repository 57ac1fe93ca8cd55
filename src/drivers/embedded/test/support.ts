import { createHash, createPrivateKey, generateKeyPairSync, randomUUID, sign, X509Certificate } from 'node:crypto';
import { createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { type Quarterdeck, quarterdeck } from '../../../../test/harness/index.ts';
import { isCertificateRefused } from '../../../areas/clusters/store/nodes.ts';
import { bits, integer, octets, oid, sequence, tagged, toPem } from '../../../kernel/x509/der.ts';
import { type Authority, issueCertificate, writeHosts, writeName } from '../../../kernel/x509/issue.ts';
import type { EmbeddedIdentity, EmbeddedOptions } from '../engine/cluster.ts';
import { makeUnreadLimiter } from '../engine/unread-bytes.ts';
import { type EmbeddedCluster, openEmbedded } from '../open.ts';

// An embedded cluster with its own TLS listener and certificates. In the product the front does this.

const day = 86_400_000;

export type Ca = Authority;

const newPair = () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { publicKey, privateKey, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
};
const validDays = () => ({ from: new Date(Date.now() - day), until: new Date(Date.now() + 10 * day) });

/** A self-signed authority. */
export function makeCa(): Ca {
  const { publicKey, privateKey, key } = newPair();
  const name = { commonName: 'kubernetes' };
  const made = { subject: name, issuer: name, publicKey, signingKey: privateKey, isAuthority: true, ...validDays() };
  return { certificate: issueCertificate(made), key };
}

export interface Credential {
  cert: string;
  key: string;
  fingerprint: string;
}

export function issue(ca: Ca, commonName: string, organizations: string[] = [], isFor: 'client' | 'server' = 'client'): Credential {
  const { publicKey, key } = newPair();
  const cert = issueCertificate({
    subject: { commonName, organizations },
    issuer: { commonName: 'kubernetes' },
    publicKey,
    signingKey: createPrivateKey(ca.key),
    usages: [isFor],
    hosts: isFor === 'server' ? ['127.0.0.1', 'localhost'] : [],
    ...validDays(),
  });
  const fingerprint = createHash('sha256').update(new X509Certificate(cert).raw).digest('hex');
  return { cert, key, fingerprint };
}

/** A certificate signing request in PEM. */
export function makeRequest(commonName: string, organizations: string[], names: string[] = []): { pem: string; key: string } {
  const { publicKey, privateKey, key } = newPair();
  const extensions = sequence(sequence(oid('551d11'), octets(writeHosts(names))));
  const wanted = names.length ? [sequence(oid('2a864886f70d01090e'), tagged(0x31, extensions))] : [];
  const info = sequence(
    ...[integer(Buffer.from([0])), writeName({ commonName, organizations }), publicKey.export({ type: 'spki', format: 'der' })],
    tagged(0xa0, ...wanted),
  );
  const request = sequence(info, sequence(oid('2a8648ce3d040302')), bits(sign('sha256', info, privateKey)));
  return { pem: toPem('CERTIFICATE REQUEST', request), key };
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect any response
  body: any;
  text: string;
}

export type Caller = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

export interface Testbed {
  deck: Quarterdeck;
  ca: Ca;
  port: number;
  cluster: EmbeddedCluster;
  options: EmbeddedOptions;
  admin: Credential;
  /** With a client certificate, a bearer token, or neither. */
  as(who?: Credential | string): Caller;
  /** As a member of system:masters. */
  call: Caller;
  /** The same cluster, opened by another server. */
  another(deck?: Quarterdeck): Promise<{ cluster: EmbeddedCluster; as(who?: Credential | string): Caller; port: number }>;
  refused: Set<string>;
  /** The limit of concurrent requests. */
  tier: { inflight: number };
}

export async function embedded(t: TestContext): Promise<Testbed> {
  const deck = await quarterdeck(t);
  const ca = makeCa();
  const admin = issue(ca, 'admin', ['system:masters']);
  const serving = issue(ca, 'kube-apiserver', [], 'server');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const refused = new Set<string>();
  const tier = { inflight: 400 };
  const clusterId = `clu_${randomUUID()}`;
  const options: EmbeddedOptions = {
    clusterId,
    org: deck.owner.orgId,
    version: () => 'v1.36.0+embedded',
    clientCa: ca,
    serviceAccount: {
      privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      issuer: 'https://kubernetes.default.svc',
      audience: 'https://kubernetes.default.svc',
    },
    isRefused: (fingerprint) => refused.has(fingerprint),
    isRefusedNow: (tx, fingerprint) => isCertificateRefused(tx, clusterId, fingerprint),
    unread: makeUnreadLimiter(deck.app.log),
    certificateSeconds: 7 * 86_400,
    inflight: () => tier.inflight,
  };
  const open = async (on: Quarterdeck) => {
    const cluster = openEmbedded(on.app, options);
    const server = await listen(cluster, ca, serving);
    t.after(async () => {
      await cluster.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo;
    return { cluster, port, as: (who?: Credential | string) => makeCaller(port, ca, who) };
  };
  const first = await open(deck);
  return { deck, ca, ...first, options, admin, call: first.as(admin), another: (on = deck) => open(on), refused, tier };
}

async function listen(cluster: EmbeddedCluster, ca: Ca, serving: Credential): Promise<Server> {
  const tls = { cert: serving.cert, key: serving.key, ca: ca.certificate, requestCert: true, rejectUnauthorized: false };
  const server = createServer(tls, (request, response) => cluster.serve(request, response, identify(request.socket as TLSSocket)));
  server.keepAliveTimeout = 120_000; // on a busy machine an idle connection would be closed just as the next request is sent
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function identify(socket: TLSSocket): EmbeddedIdentity | undefined {
  const certificate = socket.authorized ? socket.getPeerCertificate() : undefined;
  if (!certificate?.raw) return undefined;
  const { CN, O = [] } = certificate.subject as unknown as { CN: string; O?: string | string[] };
  return {
    commonName: CN,
    organizations: Array.isArray(O) ? O : [O],
    fingerprint: createHash('sha256').update(certificate.raw).digest('hex'),
  };
}

const makeCaller =
  (port: number, ca: Ca, who: Credential | string | undefined): Caller =>
  (method, path, body, headers = {}) =>
    new Promise((resolve, reject) => {
      const isBytes = Buffer.isBuffer(body);
      const payload = body === undefined ? undefined : isBytes || typeof body === 'string' ? body : JSON.stringify(body);
      const request = httpsRequest(
        {
          host: '127.0.0.1',
          port,
          method,
          path,
          ca: ca.certificate,
          ...(typeof who === 'object' ? { cert: who.cert, key: who.key } : {}),
          headers: {
            ...(payload === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
            ...(typeof who === 'string' ? { authorization: `Bearer ${who}` } : {}),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode!, headers: response.headers, text, body: parse(text) });
          });
        },
      );
      request.on('error', reject);
      request.end(payload);
    });

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: objects of any kind
export type WatchEvent = { type: string; object: any };

export interface OpenWatch {
  events: WatchEvent[];
  /** Resolves once this many events have arrived in total. */
  until(count: number): Promise<WatchEvent[]>;
  /** Resolves when the server ends the watch. */
  ended: Promise<void>;
  close(): void;
}

/** Opens a watch over HTTPS and collects its events. */
export function openWatch(port: number, ca: Ca, who: Credential, path: string): OpenWatch {
  const events: WatchEvent[] = [];
  let rest = '';
  let check = () => {};
  const request = httpsRequest({ host: '127.0.0.1', port, path, ca: ca.certificate, cert: who.cert, key: who.key });
  const ended = new Promise<void>((resolve) => {
    request.on('error', () => resolve());
    request.on('response', (response) => {
      response.on('data', (chunk: Buffer) => {
        const lines = (rest + chunk.toString()).split('\n');
        rest = lines.pop()!;
        for (const line of lines) if (line) events.push(JSON.parse(line));
        check();
      });
      response.on('error', () => resolve());
      response.on('close', () => resolve());
    });
  });
  request.end();
  return {
    events,
    ended,
    until: (count) =>
      new Promise((resolve, reject) => {
        const received = () => events.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.reason}`).join(', ');
        const timeout = setTimeout(() => reject(new Error(`${count} events of ${path} did not come, only: ${received()}`)), 60_000);
        check = () => {
          if (events.length < count) return;
          clearTimeout(timeout);
          resolve(events);
        };
        check();
      }),
    close: () => request.destroy(),
  };
}

export const configMap = (name: string, data: Record<string, string> = {}, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels },
  data,
});
