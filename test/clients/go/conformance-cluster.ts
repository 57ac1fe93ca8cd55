import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { adminOf, kube, readyCluster, type Way } from '../../../src/areas/clusters/test/support.ts';
import { basic } from '../../../src/areas/registry/test/credentials.ts';
import { freePort } from '../../harness/free-port.ts';
import { type Caller, quarterdeck } from '../../harness/index.ts';
import { eventually } from '../../harness/process.ts';
import { writeTestImages } from './conformance-images.ts';
import { controlPlaneAddress, dialed, type Mirror, makeNode, nodeAddress, nodeName } from './conformance-node.ts';
import { binaries, patience } from './kubernetes-support.ts';

const run = promisify(execFile);
const version = 'v1.36.4';
const system = '/api/v1/namespaces/kube-system';

/** kube-proxy may not change the table of connections of the whole machine, which it would enlarge. */
async function leaveConntrack(admin: Way): Promise<void> {
  const read = await kube(admin, 'GET', `${system}/configmaps/kube-proxy`);
  assert.equal(read.status, 200, JSON.stringify(read.body));
  const config: string = read.body.data['config.conf'];
  const data = { 'config.conf': config.replace('maxPerCore: null', 'maxPerCore: 0').replace('min: null', 'min: 0') };
  const written = await kube(admin, 'PATCH', `${system}/configmaps/kube-proxy`, { data }, 'application/merge-patch+json');
  assert.equal(written.status, 200, JSON.stringify(written.body));
}

async function areSystemPodsReady(admin: Way): Promise<boolean> {
  const { body } = await kube(admin, 'GET', `${system}/pods`);
  const conditions = body.items.map((pod: { status: { conditions?: { type: string; status: string }[] } }) =>
    (pod.status.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True'),
  );
  // Two of CoreDNS and one of kube-proxy.
  return conditions.length === 3 && conditions.every(Boolean);
}

/** A registry of ours with the image that a test pulls however often it is there, and a key for it. */
async function mirrorOf(owner: Caller, url: string, layout: string): Promise<Mirror> {
  const slug = 'e2e-test-images';
  assert.equal((await owner.post('/registry/registries', { slug })).status, 201);
  const { username, password } = (await owner.post('/registry/login-credentials', {})).body;
  const to = `docker://${new URL(url).host}/${slug}/kitten:1.8`;
  const flags = ['--dest-tls-verify=false', '--dest-creds', `${username}:${password}`];
  await run('skopeo', ['copy', '-q', ...flags, `oci:${layout}:registry.k8s.io/${slug}/kitten:1.8`, to]);
  const { keyId, secret } = (await owner.post(`/registry/registries/${slug}/keys`, { name: 'node', mode: 'pull' })).body;
  return { url, authorization: basic(keyId, secret) };
}

/** A cluster with a node, as an administrator makes one: our join command, a network plugin, the addons of a new cluster. */
export async function clusterWithNode(t: TestContext) {
  const node = await makeNode(t);
  const layout = await writeTestImages(node.folder, { version, etcd: join(binaries, 'etcd') });
  const listen = `${controlPlaneAddress}:${await freePort()}`;
  const env = {
    QUARTERDECK_CLUSTER_BINARIES: binaries,
    QUARTERDECK_CLUSTER_LISTEN: `0.0.0.0:${await freePort()}`,
    QUARTERDECK_LISTEN: listen,
    // Of its own images alone; a pull names registry.k8s.io, which would be asked otherwise.
    QUARTERDECK_REGISTRY_UPSTREAMS: '',
    // Without TLS it listens beyond loopback only where a proxy may be in front.
    QUARTERDECK_TRUSTED_PROXIES: nodeAddress,
    QUARTERDECK_PUBLIC_URL: `http://${listen}`,
    QUARTERDECK_ALLOW_PRIVATE_CIDRS: `node=${dialed.join(',')}`,
  };
  const { owner, url } = await quarterdeck(t, { env });
  await readyCluster(owner, { name: 'prod', tier: 'medium', orchestratorVersion: version });
  const kubeconfig = join(node.folder, 'config');
  await writeFile(kubeconfig, (await owner.get('/clusters/prod/kubeconfig')).body.kubeconfig, { mode: 0o600 });
  const admin = await adminOf(owner, 'prod');
  await leaveConntrack(admin);
  const { joinCommand } = (await owner.post('/clusters/prod/join-tokens')).body;
  await node.start(joinCommand, await mirrorOf(owner, url, layout));
  await untilNodeReady(owner, admin, node.logOf);
  return { dir: node.folder, kubeconfig, hasNode: true };
}

async function untilNodeReady(owner: Caller, admin: Way, logOf: Awaited<ReturnType<typeof makeNode>>['logOf']): Promise<void> {
  const isReady = async () =>
    (await owner.get('/clusters/prod/nodes')).body.nodes.some(
      ({ name, ready }: { name: string; ready: boolean }) => name === nodeName && ready,
    );
  const logs = async () => (await Promise.all((['import', 'join', 'kubelet', 'containerd'] as const).map(logOf))).join('\n\n');
  await eventually(isReady, patience).catch(async (error) => assert.fail(`${error}\n${await logs()}`));
  await eventually(() => areSystemPodsReady(admin), patience).catch(async (error) => assert.fail(`${error}\n${await logs()}`));
}
