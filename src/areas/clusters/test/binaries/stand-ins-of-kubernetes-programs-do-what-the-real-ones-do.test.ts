import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { installFakes, misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { eventually, scratch } from '../../../../../test/harness/process.ts';
import { issueCertificate, type Subject } from '../../../../kernel/x509/issue.ts';
import { kube, nodeKeys, nodeSubject } from '../support.ts';

const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

function makeAuthority(commonName: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [from, until] = [new Date(Date.now() - 60_000), new Date(Date.now() + 3_600_000)];
  const issue = (subject: Subject, key: KeyObject, isAuthority = false) =>
    issueCertificate({
      subject,
      issuer: { commonName },
      publicKey: key,
      signingKey: privateKey,
      from,
      until,
      isAuthority,
      ...(isAuthority ? {} : { usages: ['client', 'server'] as const, hosts: ['127.0.0.1'] }),
    });
  return {
    certificate: issue({ commonName }, publicKey, true),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    sign(subject: Subject) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return { cert: issue(subject, pair.publicKey), key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
    },
  };
}

function start(t: TestContext, path: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(path, args, { env: { PATH: process.env.PATH!, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { text: '' };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said.text += data));
  t.after(() => child.kill('SIGKILL'));
  return { child, said };
}

/** A client of kine that closes before it reads its answer, as a killed apiserver does. A second client shows that kine has answered. */
async function closeWithUnreadAnswer(socketPath: string): Promise<void> {
  const request = `${JSON.stringify({ id: 1, op: 'read', key: '/registry/health' })}\n`;
  const [closing, witness] = [net.connect(socketPath).pause(), net.connect(socketPath)];
  await Promise.all([once(closing, 'connect'), once(witness, 'connect')]);
  await new Promise((resolve) => closing.write(request, resolve));
  for (let answers = 0; answers < 3; answers++) {
    witness.write(request);
    await once(witness, 'data');
  }
  closing.destroy();
  witness.destroy();
}

async function endOf({ child, said }: { child: ChildProcess; said: { text: string } }) {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return { code: child.exitCode, text: said.text };
}

test('stand-ins of Kubernetes’ programs take the real flags, know who asks, keep objects in PostgreSQL and misbehave on demand', async (t) => {
  const { dir } = await scratch(t);
  const { connection, drop } = await freshDatabase({ empty: true });
  t.after(drop);
  const bin = join(dir, 'bin');
  await installFakes(bin, ['v1.36.4']);
  const [internal, proxy, cluster] = [makeAuthority('internal'), makeAuthority('front-proxy'), makeAuthority('cluster')];
  const put = async (name: string, text: string) => {
    await writeFile(join(dir, name), text);
    await chmod(join(dir, name), 0o600);
    return join(dir, name);
  };
  const serving = internal.sign({ commonName: 'kube-apiserver' });
  const admin = internal.sign({ commonName: 'admin', organizations: ['system:masters'] });
  const front = proxy.sign({ commonName: 'front' });
  const account = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const socket = join(dir, 'kine.sock');
  const port = await freePort();

  const client = new pg.Client(connection);
  await client.connect();
  await client.query('create schema cluster_a');
  const { host, port: dbPort, user, password, database } = connection;
  const endpoint = `postgres://${user}:${encodeURIComponent(String(password))}@localhost/${database}?host=${host}&port=${dbPort ?? 5432}&search_path=cluster_a`;
  assert.match((await endOf(start(t, join(bin, 'kine'), ['--listen-address', `unix://${socket}`]))).text, /KINE_ENDPOINT/);
  const kine = start(t, join(bin, 'kine'), ['--listen-address', `unix://${socket}`], { KINE_ENDPOINT: endpoint });

  await eventually(() => closeWithUnreadAnswer(socket).then(() => true));

  const args = [
    `--etcd-servers=unix://${socket}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--service-account-issuer=https://cluster',
    '--enable-bootstrap-token-auth',
    `--tls-cert-file=${await put('serving.crt', serving.cert)}`,
    `--tls-private-key-file=${await put('serving.key', serving.key)}`,
    `--client-ca-file=${await put('internal.crt', internal.certificate)}`,
    `--requestheader-client-ca-file=${await put('proxy.crt', proxy.certificate)}`,
    '--requestheader-allowed-names=front',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    `--service-account-signing-key-file=${await put('account.key', account)}`,
    `--service-account-key-file=${join(dir, 'account.key')}`,
  ];
  const path = join(bin, 'v1.36.4', 'kube-apiserver');
  const unknown = await endOf(start(t, path, [...args, '--insecure-port=0']));
  assert.deepEqual([unknown.code, unknown.text.split('\n')[0]], [1, 'Error: unknown flag: --insecure-port']);
  assert.equal((await endOf(start(t, path, ['--version']))).text, 'Kubernetes v1.36.4\n');
  await misbehave(bin, { 'kube-apiserver': { portTaken: true } });
  assert.match((await endOf(start(t, path, args))).text, /address already in use/);
  await misbehave(bin, { 'kube-apiserver': { neverReady: true, deaf: true } });

  const apiserver = start(t, path, args);
  const server = `https://127.0.0.1:${port}`;
  const [anonymous, asAdmin] = [
    { server, ca: internal.certificate },
    { server, ca: internal.certificate, ...admin },
  ];
  await eventually(async () => (await kube(anonymous, 'GET', '/readyz').catch(() => undefined))?.status === 500);
  await misbehave(bin, {});
  await eventually(async () => (await kube(anonymous, 'GET', '/readyz')).status === 200);
  assert.equal((await kube(anonymous, 'GET', '/version')).body.gitVersion, 'v1.36.4');

  const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const whoami = async (way: object) => kube({ server, ca: internal.certificate, ...way }, 'POST', review, {});
  assert.equal((await whoami(admin)).body.status.userInfo.username, 'admin');
  assert.equal((await whoami({})).status, 403);
  assert.equal((await whoami(front)).status, 401, 'a front proxy without a user header is unauthenticated');
  assert.equal((await whoami(cluster.sign({ commonName: 'system:node:a' }))).status, 401, 'another authority’s certificate');

  await kube(asAdmin, 'POST', '/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'a' },
  });
  const minted = await kube(asAdmin, 'POST', '/api/v1/namespaces/default/serviceaccounts/a/token', { spec: { expirationSeconds: 600 } });
  const { token } = minted.body.status;
  assert.equal((await whoami({ token })).body.status.userInfo.username, 'system:serviceaccount:default:a');
  await kube(asAdmin, 'DELETE', '/api/v1/namespaces/default/serviceaccounts/a');
  assert.equal((await whoami({ token })).status, 401);

  const manager = internal.sign({ commonName: 'system:kube-controller-manager' });
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  const kubeconfig = {
    clusters: [{ cluster: { server, 'certificate-authority-data': encoded(internal.certificate) } }],
    users: [{ user: { 'client-certificate-data': encoded(manager.cert), 'client-key-data': encoded(manager.key) } }],
  };
  start(t, join(bin, 'v1.36.4', 'kube-controller-manager'), [
    `--kubeconfig=${await put('manager.conf', JSON.stringify(kubeconfig))}`,
    `--cluster-signing-cert-file=${await put('cluster.crt', cluster.certificate)}`,
    `--cluster-signing-key-file=${await put('cluster.key', cluster.key)}`,
    '--cluster-signing-duration=168h',
    '--controllers=*,-csrapproving',
    '--secure-port=0',
  ]);
  const { csr } = nodeKeys(nodeSubject('a'));
  const spec = { request: encoded(csr), signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['client auth'] };
  const made = await kube(asAdmin, 'POST', csrs, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'a' },
    spec,
  });
  assert.equal(made.body.spec.username, 'admin');
  const approved = { ...made.body, status: { conditions: [{ type: 'Approved', status: 'True' }] } };
  assert.equal((await kube(asAdmin, 'PUT', `${csrs}/a/approval`, approved)).status, 200);
  await eventually(async () => (await kube(asAdmin, 'GET', `${csrs}/a`)).body.status.certificate);

  // What is written stands in PostgreSQL: another kine has it.
  kine.child.kill('SIGKILL');
  await endOf(kine);
  start(t, join(bin, 'kine'), ['--listen-address', `unix://${socket}`], { KINE_ENDPOINT: endpoint });
  await eventually(async () => (await kube(asAdmin, 'GET', `${csrs}/a`)).status === 200);
  assert.ok(Number((await client.query('select count(*) from cluster_a.kine')).rows[0].count) > 5);

  apiserver.child.kill('SIGTERM');
  assert.equal((await kube(asAdmin, 'GET', '/livez')).status, 200, 'deaf');
  apiserver.child.kill('SIGKILL');
  await client.end();
});
