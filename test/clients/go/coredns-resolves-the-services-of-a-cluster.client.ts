import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { adminOf, kube, readyCluster, type Way } from '../../../src/areas/clusters/test/support.ts';
import { freePort } from '../../harness/free-port.ts';
import { quarterdeck } from '../../harness/index.ts';
import { eventually, scratch } from '../../harness/process.ts';
import { binaries, patience } from './kubernetes-support.ts';

const run = promisify(execFile);
const missing = ['coredns', 'ip', 'unshare'].filter((name) => !process.env['PATH']!.split(':').some((dir) => existsSync(join(dir, name))));
const skip =
  (process.getuid!() !== 0 && 'a network namespace needs root') || (missing.length > 0 && `not installed: ${missing.join(', ')}`);

const own = `qd${process.pid}`;
const [here, there] = ['10.214.41.1', '10.214.41.2'];

/** A network of two addresses: this machine's, and that of a pod. */
async function connectPod(t: TestContext): Promise<void> {
  await run('ip', ['netns', 'add', own]);
  t.after(() => run('ip', ['netns', 'delete', own]));
  await run('ip', ['link', 'add', own, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', own]);
  await run('ip', ['address', 'add', `${here}/30`, 'dev', own]);
  await run('ip', ['link', 'set', own, 'up']);
  for (const [device, address] of [['lo'], ['eth0', there]] as const) {
    if (address) await run('ip', ['-n', own, 'address', 'add', `${address}/30`, 'dev', device]);
    await run('ip', ['-n', own, 'link', 'set', device, 'up']);
  }
}

/** What a kubelet mounts into the pod of CoreDNS, as the cluster gives it. */
async function podFiles(admin: Way, dir: string): Promise<void> {
  const system = '/api/v1/namespaces/kube-system';
  const read = async (name: string) => {
    await eventually(async () => (await kube(admin, 'GET', `${system}/configmaps/${name}`)).status === 200, patience);
    return (await kube(admin, 'GET', `${system}/configmaps/${name}`)).body.data;
  };
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3_600 } };
  const issued = await kube(admin, 'POST', `${system}/serviceaccounts/coredns/token`, request);
  assert.equal(issued.status, 201, JSON.stringify(issued.body));
  await mkdir(join(dir, 'account'));
  await writeFile(join(dir, 'account/token'), issued.body.status.token);
  await writeFile(join(dir, 'account/ca.crt'), (await read('kube-root-ca.crt'))['ca.crt']);
  await writeFile(join(dir, 'Corefile'), (await read('coredns'))['Corefile']);
  await writeFile(join(dir, 'resolv.conf'), 'nameserver 192.0.2.53\n');
}

/** As the Deployment starts it: with the Corefile as it is in the ConfigMap, at port 53 of an address of its own. */
function startCoreDns(t: TestContext, dir: string, { hostname, port }: URL) {
  const account = '/run/secrets/kubernetes.io/serviceaccount';
  const script = `mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -p ${account} && cp ${dir}/account/* ${account}
mount --bind ${dir}/resolv.conf /etc/resolv.conf && exec coredns -conf ${dir}/Corefile`;
  const child = spawn('ip', ['netns', 'exec', own, 'unshare', '--mount', 'sh', '-ec', script], {
    env: { PATH: process.env['PATH']!, KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
  const ended = new Promise((resolve) => child.once('close', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return () => said.slice(-3_000);
}

test('CoreDNS with the Corefile, account and role of a new cluster resolves its Services', { skip }, async (t) => {
  await connectPod(t);
  const env = {
    QUARTERDECK_CLUSTER_BINARIES: binaries,
    QUARTERDECK_CLUSTER_LISTEN: `0.0.0.0:${await freePort()}`,
    QUARTERDECK_PUBLIC_URL: `http://${here}:8080`,
  };
  const { owner } = await quarterdeck(t, { env });
  const { endpoint } = await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const admin = await adminOf(owner, 'prod');
  const { dir } = await scratch(t);
  await podFiles(admin, dir);
  const log = startCoreDns(t, dir, new URL(endpoint));

  const resolver = new Resolver({ timeout: 2_000, tries: 1 });
  resolver.setServers([`${there}:53`]);
  const addressOf = (name: string) => resolver.resolve4(name).catch((error) => [String(error.code)]);
  const isResolved = async (name: string, address: string) =>
    eventually(async () => (await addressOf(name))[0] === address, patience).catch(async (error) =>
      assert.fail(`${error}: ${await addressOf(name)}\n${log()}\n${await readFile(join(dir, 'Corefile'), 'utf8')}`),
    );
  await isResolved('kubernetes.default.svc.cluster.local', '10.96.0.1');
  await isResolved('kube-dns.kube-system.svc.cluster.local', '10.96.0.10');

  const services = '/api/v1/namespaces/default/services';
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { ports: [{ name: 'http', port: 80 }] } };
  const made = await kube(admin, 'POST', services, service);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await isResolved('web.default.svc.cluster.local', made.body.spec.clusterIP);
  const [record] = await resolver.resolveSrv('_http._tcp.web.default.svc.cluster.local');
  assert.deepEqual([record!.name, record!.port], ['web.default.svc.cluster.local', 80]);
  assert.equal((await kube(admin, 'DELETE', `${services}/web`)).status, 200);
  await isResolved('web.default.svc.cluster.local', 'ENOTFOUND');
});
