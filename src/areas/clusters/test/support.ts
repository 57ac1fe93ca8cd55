import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import type { Caller } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { bits, integer, octets, oid, sequence, tagged, toPem } from '../../../kernel/x509/der.ts';
import { writeHosts, writeName } from '../../../kernel/x509/issue.ts';

/** A way to a cluster's API: an address, its authority, and a token or a certificate. */
export interface Way {
  server: string;
  ca: string;
  token?: string;
  cert?: string;
  key?: string;
  /** The name to ask TLS for, where the address does not say it. */
  serverName?: string;
}

export interface KubeAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
  body: any;
}

/** One request on a connection of its own. */
export const kube = (way: Way, method: string, path: string, body?: unknown, type = 'application/json'): Promise<KubeAnswer> =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const asked = httpsRequest(
      `${way.server}${path}`,
      {
        method,
        ca: way.ca,
        cert: way.cert,
        key: way.key,
        ...(way.serverName ? { servername: way.serverName } : {}),
        agent: false,
        timeout: 10_000,
        headers: {
          ...(way.token ? { authorization: `Bearer ${way.token}` } : {}),
          ...(text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
        },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        // A connection that breaks in the middle of a response emits only `close`.
        answer.once('close', () => reject(new Error('the answer was cut off')));
        answer.on('end', () => {
          const said = Buffer.concat(chunks).toString();
          const isJson = String(answer.headers['content-type'] ?? '').includes('json');
          resolve({ status: answer.statusCode!, body: isJson ? JSON.parse(said) : said });
        });
      },
    );
    asked.on('error', reject);
    asked.on('timeout', () => asked.destroy(new Error('the cluster did not answer in time')));
    asked.end(text);
  });

export async function readyCluster(owner: Caller, body: { name: string; tier?: string } & Record<string, unknown>) {
  const made = await owner.post('/clusters', { tier: 'small', ...body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return untilReady(owner, body.name);
}

export async function untilReady(owner: Caller, name: string) {
  let last: unknown;
  const isReady = async () => {
    const found = await owner.get(`/clusters/${name}`);
    last = found.body;
    return found.status === 200 && found.body.phase === 'ready';
  };
  await eventually(isReady, { withinMs: 60_000 }).catch((error) => assert.fail(`${error}: ${JSON.stringify(last)}`));
  return (await owner.get(`/clusters/${name}`)).body;
}

const field = (text: string, name: string) => new RegExp(`^ *${name}: "?([^"\\n]+)"?$`, 'm').exec(text)?.[1] ?? assert.fail(`no ${name}`);

/** What the API says once the cluster itself has answered it: on a busy machine that takes more than the 2 s that it waits, and it says 502. */
export async function answered<T extends { status: number; body: unknown }>(ask: () => Promise<T>): Promise<T> {
  let last: T | undefined;
  const isAnswered = async () => {
    last = await ask();
    return last.status !== 502 && last;
  };
  return eventually(isAnswered, { withinMs: 60_000 }).catch((error) => assert.fail(`${error}: ${JSON.stringify(last?.body)}`));
}

/** As an administrator. */
export async function adminOf(owner: Caller, name: string): Promise<Way> {
  const { status, body } = await answered(() => owner.get(`/clusters/${name}/kubeconfig`));
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.expiresIn, 3600);
  return {
    server: field(body.kubeconfig, 'server'),
    ca: Buffer.from(field(body.kubeconfig, 'certificate-authority-data'), 'base64').toString(),
    token: field(body.kubeconfig, 'token'),
  };
}

const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

export interface NodeKeys {
  csr: string;
  key: string;
}

/** What a kubelet makes before it asks for a certificate. */
export function nodeKeys(subject: { cn: string; o?: string[] }, names: { dns?: string[]; ip?: string[] } = {}): NodeKeys {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const all = [...(names.dns ?? []), ...(names.ip ?? [])];
  const extensions = sequence(sequence(oid('551d11'), octets(writeHosts(all))));
  const info = sequence(
    integer(Buffer.from([0])),
    writeName({ commonName: subject.cn, organizations: subject.o ?? ['system:nodes'] }),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa0, all.length ? sequence(oid('2a864886f70d01090e'), tagged(0x31, extensions)) : Buffer.alloc(0)),
  );
  const request = sequence(info, sequence(oid('2a8648ce3d040302')), bits(sign('sha256', info, privateKey)));
  return { csr: toPem('CERTIFICATE REQUEST', request), key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

export const nodeSubject = (name: string) => ({ cn: `system:node:${name}` });

/** Asks for a certificate and waits for the decision. */
export async function askCertificate(
  way: Way,
  keys: NodeKeys,
  options: { signer?: string; usages?: string[] } = {},
): Promise<{ certificate: string; name: string } | { denied: string; message: string }> {
  const name = `node-csr-${createHash('sha256').update(keys.csr).digest('hex').slice(0, 20)}`;
  const made = await kube(way, 'POST', requests, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(keys.csr).toString('base64'),
      signerName: options.signer ?? 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: options.usages ?? ['digital signature', 'client auth'],
    },
  });
  if (made.status !== 201) return { denied: `status ${made.status}`, message: JSON.stringify(made.body) };
  let found: { certificate: string; name: string } | { denied: string; message: string } | undefined;
  await eventually(async () => {
    const { body, status } = await kube(way, 'GET', `${requests}/${name}`);
    if (status !== 200) {
      found = { denied: `status ${status}`, message: JSON.stringify(body) };
      return true;
    }
    const denied = (body.status?.conditions ?? []).find((c: { type: string }) => c.type === 'Denied');
    if (denied) found = { denied: denied.reason, message: denied.message };
    else if (body.status?.certificate) found = { certificate: Buffer.from(body.status.certificate, 'base64').toString(), name };
    return found !== undefined;
  });
  return found!;
}

export interface Joined {
  name: string;
  way: Way;
}

/** A node as far as the API sees it: asks for a certificate with a token, then shows itself and its lease. */
export async function joinNode(way: Way, token: string, name: string, version = 'v1.36.0'): Promise<Joined> {
  const keys = nodeKeys(nodeSubject(name));
  const given = await askCertificate({ server: way.server, ca: way.ca, token }, keys);
  if ('denied' in given) throw new Error(`${given.denied}: ${given.message}`);
  const own: Way = { server: way.server, ca: way.ca, cert: given.certificate, key: keys.key };
  await showNode(own, name, version);
  return { name, way: own };
}

export async function showNode(own: Way, name: string, version: string): Promise<void> {
  const made = await kube(own, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const status = {
    nodeInfo: { kubeletVersion: version },
    conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString(), reason: 'KubeletReady' }],
    addresses: [
      { type: 'InternalIP', address: '10.1.2.3' },
      { type: 'Hostname', address: name },
    ],
    capacity: { cpu: '4', memory: '16Gi' },
  };
  const shown = await kube(own, 'PUT', `/api/v1/nodes/${name}/status`, { ...made.body, status });
  assert.equal(shown.status, 200, JSON.stringify(shown.body));
  const lease = await kube(own, 'POST', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'kube-node-lease' },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: new Date().toISOString().replace('Z', '000Z') },
  });
  assert.equal(lease.status, 201, JSON.stringify(lease.body));
}

/** A fresh join token. */
export async function joinToken(owner: Caller, cluster: string): Promise<string> {
  const { status, body } = await answered(() => owner.post(`/clusters/${cluster}/join-tokens`));
  assert.equal(status, 201, JSON.stringify(body));
  return body.joinToken;
}
