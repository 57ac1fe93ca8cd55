import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { eventually, scratch } from '../../harness/process.ts';

// A machine for one node, as far as Kubernetes can tell: a network, a host name, mounts and processes of its own, gone with the test.
//
//   server and apiserver, e2e.test ── 10.214.42.1 ═══ veth ═══ 10.214.42.2 ── kubelet, containerd ── bridge ── pods of 10.244.0.0/24
//
// This machine has routes to pods and services through the node, as a control plane that runs on a node has. The node has no default route:
// pods reach each other, services and this machine, and nothing beyond it.

const run = promisify(execFile);

const own = `qdn${process.pid}`;
export const [controlPlaneAddress, nodeAddress] = ['10.214.42.1', '10.214.42.2'];
export const nodeName = 'worker-1';
/** What the apiserver dials: the kubelet, and pods of webhooks by their service. */
export const dialed = [`${nodeAddress}/32`, '10.244.0.0/14', '10.96.0.0/12'];

const plugins = ['/usr/lib/cni', '/opt/cni/bin', process.env['QUARTERDECK_TEST_CNI'] ?? ''].find((dir) => existsSync(join(dir, 'bridge')));
/** From Debian; the others are built by run.ts. */
const fromDebian = ['runc', 'ip', 'iptables', 'nsenter', 'setpriv', 'unshare'];
export const programsOfNode = [...fromDebian, 'kubeadm', 'kubelet', 'containerd', 'containerd-shim-runc-v2', 'ctr'];

/** Why there can be no node here; false if there can. */
export function withoutNode(programs: readonly string[]): string | false {
  const missing = [...programsOfNode, ...programs].filter(
    (name) => !process.env['PATH']!.split(':').some((dir) => existsSync(join(dir, name))),
  );
  if (process.getuid!() !== 0) return 'a kubelet runs as root';
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  return !plugins && 'no CNI plugins are installed';
}

/** What is undone at the end of a test, the latest first. */
type Undo = (() => Promise<unknown>)[];

async function makeNetwork(undo: Undo): Promise<void> {
  await run('ip', ['netns', 'add', own]);
  // The other end goes with it, and with that the routes.
  undo.push(() => run('ip', ['netns', 'delete', own]));
  await run('ip', ['link', 'add', own, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', own]);
  await run('ip', ['address', 'add', `${controlPlaneAddress}/30`, 'dev', own]);
  await run('ip', ['link', 'set', own, 'up']);
  await run('ip', ['-n', own, 'address', 'add', `${nodeAddress}/30`, 'dev', 'eth0']);
  for (const device of ['lo', 'eth0']) await run('ip', ['-n', own, 'link', 'set', device, 'up']);
  for (const range of ['10.244.0.0/14', '10.96.0.0/12']) await run('ip', ['route', 'add', range, 'via', nodeAddress]);
  // For the node's own connections, which become those to pods before they leave it.
  await run('ip', ['-n', own, 'route', 'add', '10.96.0.0/12', 'via', controlPlaneAddress]);
}

const groups = '/sys/fs/cgroup';

/** A cgroup for all that the kubelet starts, in each hierarchy, so that it can be removed. */
async function makeCgroups(undo: Undo): Promise<string> {
  const isUnified = existsSync(join(groups, 'cgroup.controllers'));
  const roots = isUnified ? [groups] : (await readdir(groups)).map((name) => join(groups, name));
  const made = roots.map((root) => join(root, own));
  for (const dir of made) await mkdir(dir);
  // They remain when the processes have ended, which takes a moment after the kill.
  const remove = async () => {
    for (const dir of made.filter((each) => existsSync(each)))
      await run('find', [dir, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', '+']);
    return true;
  };
  undo.push(() => eventually(() => remove().catch(() => false), { withinMs: 30_000 }));
  return `/${own}`;
}

/** The kubelet sets them for the whole machine. */
async function keepSettings(undo: Undo): Promise<void> {
  for (const name of [
    'vm/overcommit_memory',
    'kernel/panic',
    'kernel/panic_on_oops',
    'kernel/keys/root_maxkeys',
    'kernel/keys/root_maxbytes',
  ]) {
    const file = join('/proc/sys', name);
    const before = await readFile(file, 'utf8');
    undo.push(() => writeFile(file, before));
  }
}

/** As containerd 1 and 2 read it. The second runtime is what the tests of RuntimeClass ask for. crun of Debian 12 refuses what containerd 2 asks. */
function containerdConfig(at: (name: string) => string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const runtimes = ['runc', 'test-handler'].map(
    (name) => `[${cri}.containerd.runtimes.${name}]
  runtime_type = "io.containerd.runc.v2"
`,
  );
  return `version = 2
root = "${at('root')}"
state = "${at('state')}"
[grpc]
  address = "${at('containerd.sock')}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${at('opt')}"
[${cri}]
  sandbox_image = "registry.k8s.io/pause:3.10.2"
  restrict_oom_score_adj = true
[${cri}.registry]
  config_path = "${at('registries')}"
[${cri}.cni]
  bin_dir = "${plugins}"
  conf_dir = "${at('cni')}"
  conf_template = "${at('cni.template')}"
[${cri}.containerd]
  default_runtime_name = "runc"
${runtimes.join('')}`;
}

const networkTemplate = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: '{{.PodCIDR}}' }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

/** What an administrator of this kind of machine sets: cgroups of version 1, and nothing outside the folders of the test. */
const kubeletPatch = (cgroupRoot: string) =>
  [
    'failCgroupV1: false',
    'cgroupDriver: cgroupfs',
    `cgroupRoot: ${cgroupRoot}`,
    'failSwapOn: false',
    'volumePluginDir: /var/lib/kubelet/plugins',
  ]
    .map((line) => `${line}\n`)
    .join('');

/** Seen as empty by the node, whatever this machine has there. */
const ownFolders = ['/run', '/etc/kubernetes', '/lib/modules', '/var/lib/cni', '/var/lib/kubelet', '/var/log/containers', '/var/log/pods'];

const script = (at: (name: string) => string, join: string) => `set -e
mount --make-rprivate /
for dir in ${ownFolders.join(' ')}; do mount -t tmpfs -o mode=755 tmpfs $dir; done
mount --bind ${at('resolv.conf')} /etc/resolv.conf
mount --make-rshared /
hostname ${nodeName}
containerd -c ${at('containerd.toml')} > ${at('containerd.log')} 2>&1 &
until ctr -a ${at('containerd.sock')} -n k8s.io images import ${at('images.tar')} > ${at('import.log')} 2>&1; do sleep 0.5; done
( until [ -f /var/lib/kubelet/kubeadm-flags.env ]; do sleep 0.2; done
  . /var/lib/kubelet/kubeadm-flags.env
  exec kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \
    --config=/var/lib/kubelet/config.yaml --node-ip=${nodeAddress} $KUBELET_KUBEADM_ARGS > ${at('kubelet.log')} 2>&1 ) &
${join} --node-name ${nodeName} --ignore-preflight-errors=all --cri-socket unix://${at('containerd.sock')} --patches ${at('patches')} > ${at('join.log')} 2>&1
wait
`;

async function makeOwnFolders(undo: Undo): Promise<void> {
  for (const dir of ownFolders) {
    const made = await mkdir(dir, { recursive: true });
    if (made) undo.push(() => rmdir(dir).catch(() => {})); // another test may use it by now
  }
}

async function writeFiles(at: (name: string) => string, command: string, cgroupRoot: string): Promise<void> {
  for (const dir of ['cni', 'patches', 'opt']) await mkdir(at(dir), { recursive: true });
  await writeFile(at('cni.template'), JSON.stringify(networkTemplate));
  await writeFile(at('containerd.toml'), containerdConfig(at));
  await writeFile(at('resolv.conf'), `nameserver ${controlPlaneAddress}\n`);
  await writeFile(at('patches/kubeletconfiguration+merge.yaml'), kubeletPatch(cgroupRoot));
  await writeFile(at('node.sh'), script(at, command));
}

/** All that is not in `images.tar` is asked for at a registry of ours. */
async function mirrorImages(at: (name: string) => string, { url, authorization }: Mirror): Promise<void> {
  const dir = at('registries/registry.k8s.io');
  await mkdir(dir, { recursive: true });
  const host = `host."${url}"`;
  await writeFile(
    join(dir, 'hosts.toml'),
    `server = "${url}"\n[${host}]\ncapabilities = ["pull", "resolve"]\n[${host}.header]\nAuthorization = "${authorization}"\n`,
  );
}

export interface Mirror {
  url: string;
  authorization: string;
}

/** A network, a folder for `images.tar` and the logs, and what begins the node there. */
export async function makeNode(t: TestContext) {
  const undo: Undo = [];
  t.after(async () => {
    for (const each of undo.reverse()) await each();
  });
  const { dir: folder } = await scratch(t);
  const at = (name: string) => join(folder, name);
  await makeNetwork(undo);
  const start = async (joinCommand: string, mirror: Mirror) => {
    await mirrorImages(at, mirror);
    await keepSettings(undo);
    await makeOwnFolders(undo);
    await writeFiles(at, joinCommand, await makeCgroups(undo));
    const apart = ['--mount', '--pid', '--uts', '--ipc', '--fork', '--mount-proc', '--kill-child'];
    // Killed with this process, too.
    const command = ['--pdeathsig', 'KILL', 'nsenter', `--net=/run/netns/${own}`, 'unshare', ...apart, 'sh', at('node.sh')];
    const node = spawn('setpriv', command, { stdio: 'inherit' });
    undo.push(async () => {
      const ended = new Promise((resolve) => node.once('close', resolve));
      node.kill('SIGKILL');
      await ended;
    });
  };
  const logOf = async (name: 'join' | 'kubelet' | 'containerd' | 'import') =>
    (await readFile(at(`${name}.log`), 'utf8').catch(() => '')).slice(-4_000);
  return { folder, start, logOf };
}
