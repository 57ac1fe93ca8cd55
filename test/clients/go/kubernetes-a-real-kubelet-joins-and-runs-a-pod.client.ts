import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { loadavg, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { readyCluster } from '../../../src/areas/clusters/test/support.ts';
import { quarterdeck } from '../../harness/index.ts';
import { eventually, scratch } from '../../harness/process.ts';
import { withoutKubectl } from '../clusters-kubectl.ts';
import { binaries, kubectlOf, patience } from './kubernetes-support.ts';

// kubeadm and kubelet are built by run.ts; containerd, its shim, runc and the CNI plugin `loopback` are taken as Debian has them.

/** From Debian. */
const skopeo = 'skopeo';
const plugins = ['/usr/lib/cni', '/opt/cni/bin', process.env['QUARTERDECK_TEST_CNI'] ?? ''].find((dir) =>
  existsSync(join(dir, 'loopback')),
);
const missing = ['kubeadm', 'kubelet', 'containerd', 'containerd-shim-runc-v2', 'runc', 'ctr', 'skopeo', 'go'].filter(
  (name) => !process.env['PATH']!.split(':').some((dir) => existsSync(join(dir, name))),
);
const why =
  withoutKubectl('v36') ||
  (process.getuid!() !== 0 && 'a kubelet runs as root') ||
  (missing.length > 0 && `not installed: ${missing.join(', ')}`) ||
  (!plugins && 'no CNI plugins are installed');

const address = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

/** An image of one program. */
async function image(folder: string, name: string): Promise<string> {
  const layout = join(folder, name);
  await mkdir(join(layout, 'blobs/sha256'), { recursive: true });
  await mkdir(join(folder, 'rootfs/bin'), { recursive: true });
  execFileSync('go', ['build', '-o', join(folder, 'rootfs/bin/pod'), join(import.meta.dirname, 'pod.go')], {
    env: { ...process.env, CGO_ENABLED: '0' },
  });
  const tar = execFileSync('tar', ['-c', '-C', join(folder, 'rootfs'), 'bin'], { maxBuffer: 2 ** 28 });
  const put = async (mediaType: string, bytes: Buffer) => {
    const hex = createHash('sha256').update(bytes).digest('hex');
    await writeFile(join(layout, 'blobs/sha256', hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  };
  const type = (of: string) => `application/vnd.oci.image.${of}`;
  const layer = await put(type('layer.v1.tar'), tar);
  const config = { architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux', config: { Entrypoint: ['/bin/pod'] } };
  const rootfs = { type: 'layers', diff_ids: [layer.digest] };
  const described = await put(type('config.v1+json'), Buffer.from(JSON.stringify({ ...config, rootfs })));
  const manifest = { schemaVersion: 2, mediaType: type('manifest.v1+json'), config: described, layers: [layer] };
  const top = await put(manifest.mediaType, Buffer.from(JSON.stringify(manifest)));
  await writeFile(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  const annotations = { 'org.opencontainers.image.ref.name': 'latest' };
  await writeFile(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [{ ...top, annotations }] }));
  return `oci:${layout}:latest`;
}

/** A machine as far as a kubelet can tell: mounts and processes of its own, gone with the test. Its log. */
async function startNode(
  t: TestContext,
  folder: string,
  { join: command, registry, pause }: { join: string; registry: string; pause: string },
) {
  const at = (name: string) => join(folder, name);
  execFileSync(skopeo, ['copy', '-q', pause, `oci-archive:${at('pause.tar')}:localhost/pause:1`]);
  for (const dir of ['cni', `certs.d/${registry}`, 'patches']) await mkdir(at(dir), { recursive: true });
  await writeFile(at('cni/10-lo.conflist'), JSON.stringify({ cniVersion: '0.4.0', name: 'lo', plugins: [{ type: 'loopback' }] }));
  await writeFile(at(`certs.d/${registry}/hosts.toml`), `[host."http://${registry}"]\n  capabilities = ["pull", "resolve"]\n`);
  await writeFile(at('patches/kubeletconfiguration+merge.yaml'), 'failCgroupV1: false\ncgroupDriver: cgroupfs\nfailSwapOn: false\n');
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  await writeFile(
    at('containerd.toml'),
    `version = 2
root = "${at('root')}"
state = "${at('state')}"
[grpc]
  address = "${at('containerd.sock')}"
[${cri}]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
[${cri}.cni]
  bin_dir = "${plugins}"
  conf_dir = "${at('cni')}"
[${cri}.registry]
  config_path = "${at('certs.d')}"
[${cri}.containerd]
  snapshotter = "native"
[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
`,
  );
  await writeFile(
    at('node.sh'),
    `mount --make-rprivate /
for dir in /var/lib/kubelet /etc/kubernetes; do mount -t tmpfs tmpfs $dir; done
mount --make-rshared /
containerd -c ${at('containerd.toml')} > ${at('containerd.log')} 2>&1 &
until ctr -a ${at('containerd.sock')} -n k8s.io images import --snapshotter native ${at('pause.tar')} > /dev/null 2>&1; do sleep 0.2; done
( until [ -f /var/lib/kubelet/kubeadm-flags.env ]; do sleep 0.2; done
  . /var/lib/kubelet/kubeadm-flags.env
  exec kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \
    --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS > ${at('kubelet.log')} 2>&1 ) &
${command} --node-name worker-1 --ignore-preflight-errors=all --cri-socket unix://${at('containerd.sock')} --patches ${at('patches')} > ${at('join.log')} 2>&1 \
  && echo joined >> ${at('join.log')}
wait
`,
  );
  const made: string[] = [];
  for (const dir of ['/var/lib/kubelet', '/etc/kubernetes']) if (await mkdir(dir, { recursive: true })) made.push(dir);
  const node = spawn('unshare', ['--mount', '--pid', '--fork', '--mount-proc', '--kill-child', 'sh', at('node.sh')], { stdio: 'inherit' });
  t.after(async () => {
    const ended = new Promise((resolve) => node.once('close', resolve));
    node.kill('SIGKILL');
    await ended;
    for (const dir of made) await rmdir(dir).catch(() => {});
  });
  return async (name: 'join' | 'kubelet' | 'containerd') => (await readFile(at(`${name}.log`), 'utf8').catch(() => '')).slice(-4_000);
}

test('a real kubelet joins by kubeadm, runs a pod from our registry, is reached through the guard, and is refused when it is removed', {
  skip: why,
}, async (t) => {
  const env = { QUARTERDECK_CLUSTER_BINARIES: binaries, QUARTERDECK_ALLOW_PRIVATE_CIDRS: `node=${address}/32` };
  const { owner, url } = await quarterdeck(t, { env });
  const registry = new URL(url).host;
  const { dir: folder } = await scratch(t);
  const layout = await image(folder, 'image');
  assert.equal((await owner.post('/registry/registries', { slug: 'acme' })).status, 201);
  const { username, password } = (await owner.post('/registry/login-credentials', {})).body;
  // Not synchronously: the registry answers in this process.
  await promisify(execFile)(skopeo, [
    'copy',
    '-q',
    '--dest-tls-verify=false',
    '--dest-creds',
    `${username}:${password}`,
    layout,
    `docker://${registry}/acme/web:1`,
  ]);

  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const { joinCommand } = (await owner.post('/clusters/prod/join-tokens')).body;
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s (load ${loadavg()[0]!.toFixed(1)})`;
  const logOf = await startNode(t, folder, { join: joinCommand, registry, pause: layout });
  const nodes = async () =>
    (await owner.get('/clusters/prod/nodes')).body.nodes as { name: string; ready: boolean; agentVersion: string }[];
  const isReady = async () => (await nodes()).some(({ ready }) => ready);
  await eventually(isReady, patience).catch(async (error) => assert.fail(`${error}\n${await logOf('join')}\n${await logOf('kubelet')}`));
  t.diagnostic(`the node is ready after ${seconds()}`);
  assert.deepEqual(await nodes(), [{ name: 'worker-1', ready: true, agentVersion: 'v1.36.4' }]);

  const kubectl = await kubectlOf(t, owner, 'prod');
  await kubectl(
    'create',
    'secret',
    'docker-registry',
    'pull',
    `--docker-server=${registry}`,
    `--docker-username=${username}`,
    `--docker-password=${password}`,
  );
  const pod = { hostNetwork: true, imagePullSecrets: [{ name: 'pull' }], containers: [{ name: 'web', image: `${registry}/acme/web:1` }] };
  const template = { metadata: { labels: { app: 'web' } }, spec: pod };
  const spec = { replicas: 1, selector: { matchLabels: { app: 'web' } }, template };
  const file = join(folder, 'web.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec }));
  await kubectl('apply', '-f', file);
  const isRunning = async () => / Running /.test(await kubectl('get', 'pods'));
  await eventually(isRunning, patience).catch(async () => assert.fail(await kubectl('describe', 'pods')));
  t.diagnostic(`a pod of our registry runs after ${seconds()}`);
  assert.equal(await kubectl('logs', 'deployment/web'), 'hello from a pod\n', 'by way of the guard');
  assert.equal(await kubectl('exec', 'deployment/web', '--', '/bin/pod', 'once'), 'hello from a pod\n');

  assert.equal((await owner.delete('/clusters/prod/nodes/worker-1')).status, 204);
  await eventually(async () => (await logOf('kubelet')).includes('Unauthorized'), patience);
  assert.deepEqual(await nodes(), []);
});
