import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { chmod, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { addAddresses, makeService, poolOf, setNode, talkUntil, untilAddress } from '../../src/areas/clusters/test/balancer/support.ts';
import { withPrograms } from '../../src/areas/clusters/test/process/support.ts';
import { adminOf, answered, joinNode, joinToken, readyCluster, type Way } from '../../src/areas/clusters/test/support.ts';
import { eventually, scratch } from '../harness/process.ts';

// Real WireGuard: Debian's wireguard-tools, and wireguard-go where the kernel has none. Two machines, each in a network namespace behind a router
// that translates its address, and the server at 198.18.77.1. Nothing leaves this machine.

const needed = ['ip', 'wg', 'iptables', 'ping', 'unshare', 'nsenter', 'curl', 'awk'];
const missing = needed.filter((name) => {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`]);
    return false;
  } catch {
    return true;
  }
});
const isUsed = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address.startsWith('198.18.77.')));
const why =
  (process.getuid?.() !== 0 && 'network namespaces are made by root') ||
  (missing.length > 0 && `not installed: ${missing.join(', ')}`) ||
  (isUsed && 'this machine has an address of 198.18.77.0/24, which the test gives to its server');

const own = `q${process.pid % 10_000}`;
const server = '198.18.77.1';
const run = promisify(execFile);
const ip = (text: string) => execFileSync('ip', text.split(' '), { stdio: 'pipe' });
const inside = (name: string, ...command: string[]) => run('ip', ['netns', 'exec', `${own}${name}`, ...command], { timeout: 20_000 });
const reaches = (name: string, address: string, ...more: string[]) =>
  inside(name, 'ping', '-c', '1', '-W', '1', ...more, address).then(
    () => true,
    () => false,
  );

/** A machine behind a router of its own. */
async function machine(t: TestContext, name: string, n: number): Promise<void> {
  const router = `${own}r${n}`;
  const node = `${own}${name}`;
  for (const each of [router, node]) {
    ip(`netns add ${each}`);
    t.after(() => run('ip', ['netns', 'del', each]).catch(() => {}));
    ip(`-n ${each} link set lo up`);
  }
  ip(`link add ${own}o${n} type veth peer name out netns ${router}`);
  ip(`link set ${own}o${n} master ${own}b up`);
  ip(`-n ${router} addr add 198.18.77.${n + 1}/24 dev out`);
  ip(`-n ${router} link set out up`);
  ip(`link add in netns ${router} type veth peer name eth0 netns ${node}`);
  ip(`-n ${router} addr add 10.77.0.1/24 dev in`);
  ip(`-n ${router} link set in up`);
  ip(`-n ${node} addr add 10.77.0.2/24 dev eth0`);
  ip(`-n ${node} link set eth0 up`);
  ip(`-n ${node} route add default via 10.77.0.1`);
  await inside(`r${n}`, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward; iptables -t nat -A POSTROUTING -o out -j MASQUERADE');
}

interface Machine {
  /** Of its kubeadm, once it is run. */
  args(): Promise<string>;
  /** As kubeadm and the kubelet leave them. */
  addCertificate(way: Way): Promise<void>;
  /** Among its own files. */
  wg(...args: string[]): Promise<string>;
}

/** Runs the join script as on a machine of its own: with its own /etc and /var/lib, and a kubeadm that only notes what it was told. */
async function joinMachine(t: TestContext, folder: string, name: string, command: string): Promise<Machine> {
  const at = (path: string) => join(folder, name, path);
  const places = [
    '/var/lib/kubelet',
    '/etc/kubernetes',
    '/etc/quarterdeck',
    '/usr/local/lib/quarterdeck',
    '/etc/default',
    '/etc/sysconfig',
  ];
  await mkdir(at('bin'), { recursive: true });
  await writeFile(at('bin/kubeadm'), `#!/bin/sh\necho "$@" > ${at('args.new')}\nmv ${at('args.new')} ${at('args')}\nsleep 600\n`);
  await chmod(at('bin/kubeadm'), 0o755);
  const script = ['set -e', 'mount --make-rprivate /'];
  for (const place of places) {
    await mkdir(at(place), { recursive: true });
    if (await mkdir(place, { recursive: true })) t.after(() => rmdir(place).catch(() => {}));
    script.push(`mount --bind ${at(place)} ${place}`);
  }
  // No unit is started on the machine that the tests run on, and wireguard-go has its sockets here.
  for (const place of ['/run/systemd', '/run/wireguard']) script.push(`mkdir -p ${place}`, `mount -t tmpfs tmpfs ${place}`);
  script.push(`export PATH=${at('bin')}:$PATH`, `hostname ${name}`, command);
  await writeFile(at('join.sh'), script.join('\n'));
  const joining = spawn(
    'ip',
    ['netns', 'exec', `${own}${name}`, 'unshare', '--mount', '--uts', '--pid', '--fork', '--kill-child', 'sh', at('join.sh')],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let said = '';
  for (const stream of [joining.stdout, joining.stderr]) stream.on('data', (data) => (said += data));
  t.after(() => joining.kill('SIGKILL'));
  const enter = ['-t', String(joining.pid), '-m', '-n', 'wg'];
  return {
    args: () =>
      eventually(() => readFile(at('args'), 'utf8').catch(() => false as const), { withinMs: 60_000 }).catch((error) =>
        assert.fail(`${error}: ${said}`),
      ),
    wg: async (...given) => (await run('nsenter', [...enter, ...given])).stdout,
    async addCertificate({ server: endpoint, ca, cert, key }) {
      await mkdir(at('/etc/kubernetes/pki'), { recursive: true });
      await mkdir(at('/var/lib/kubelet/pki'), { recursive: true });
      await writeFile(at('/etc/kubernetes/pki/ca.crt'), ca);
      await writeFile(at('/var/lib/kubelet/pki/kubelet-client-current.pem'), `${cert}${key}`);
      await writeFile(at('/etc/kubernetes/kubelet.conf'), `clusters:\n- cluster:\n    server: ${endpoint}\n`);
    },
  };
}

/** As an apiserver does: by CONNECT at the cluster's egress proxy. What the other end says first, or the refusal. */
const askByEgress = (socket: string, target: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const asked = connect(socket, () => asked.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\n`));
    let said = '';
    asked.setTimeout(15_000, () => asked.destroy(new Error(`no answer of ${target}`)));
    asked.on('data', (data) => (said += data));
    asked.once('error', reject);
    asked.once('close', () => resolve(said));
  });

test('nodes behind NAT reach each other and the control plane by the mesh, and a removed one hears nothing within 2 s', {
  skip: why,
}, async (t) => {
  ip(`link add ${own}b type bridge`);
  t.after(() => run('ip', ['link', 'del', `${own}b`]));
  ip(`addr add ${server}/24 dev ${own}b`);
  ip(`link set ${own}b up`);
  await machine(t, 'one', 1);
  await machine(t, 'two', 2);
  const listen = `${server}:${30_000 + (process.pid % 10_000)}`;
  const programs = await withPrograms(t, {
    env: { QUARTERDECK_LISTEN: `${server}:0`, QUARTERDECK_TRUSTED_PROXIES: '198.18.77.254', QUARTERDECK_CLUSTER_LISTEN: listen },
  });
  const { owner, url, dataDir } = programs;
  await addAddresses(programs, poolOf(29, 104));
  await readyCluster(owner, { name: 'prod', mesh: true, managedLoadBalancers: { enabled: true } });
  const usage = async () => (await owner.get('/clusters/prod/usage')).body.limitations.filter((each: string) => each.startsWith('mesh:'));
  assert.deepEqual(await usage(), []);

  const { joinCommand, token } = (await owner.post('/clusters/prod/registration-tokens', { name: 'pool' })).body;
  assert.ok(joinCommand.includes(url));
  const caHash = /--ca-cert-hash (\S+)/.exec(joinCommand)![1]!;
  const { dir: folder } = await scratch(t);
  const command = `curl -fsSL ${url}/join.sh | sh -s -- --server ${url} --token ${token} --ca-cert-hash ${caHash}`;
  const found = (await owner.get('/clusters/prod/kubeconfig')).body.kubeconfig as string;
  const ca = Buffer.from(/certificate-authority-data: "?([^"\n]+)/.exec(found)![1]!, 'base64').toString();
  const machines = new Map<string, Machine>();
  for (const name of ['one', 'two']) {
    const joined = await joinMachine(t, folder, name, command);
    const args = await joined.args();
    machines.set(name, joined);
    const [, endpoint, joinToken] = /^join (\S+) --token (\S+) .*--node-name (?:one|two)$/.exec(args.trim()) ?? assert.fail(args);
    const { way } = await joinNode({ server: `https://${endpoint}`, ca }, joinToken!, name);
    await joined.addCertificate(way);
  }
  const nodeIp = await readFile(join(folder, 'one/etc/default/kubelet'), 'utf8');
  assert.match(nodeIp, /^KUBELET_EXTRA_ARGS=" --node-ip=100\.64\.0\.2"\n$/);

  const hub = '100.64.0.1';
  await eventually(() => reaches('one', hub), { withinMs: 60_000 });
  await eventually(() => reaches('two', hub), { withinMs: 60_000 });
  await eventually(() => reaches('one', '100.64.0.3'), { withinMs: 30_000 });
  assert.ok(await reaches('two', '100.64.0.2'), 'and the other way');

  // The apiserver's side reaches the node, which says something first, and nothing but nodes of this mesh.
  const greeting = "require('net').createServer((s) => s.end('hello of one')).listen(10250, '100.64.0.2')";
  const kubelet = spawn('ip', ['netns', 'exec', `${own}one`, process.execPath, '-e', greeting], { stdio: 'ignore' });
  t.after(() => kubelet.kill('SIGKILL'));
  // As the apiserver's own configuration names it.
  const named = await run('grep', ['-rhoEs', '/[^" ]*egress[.]sock', join(dataDir, 'clusters/run')]);
  const socket = named.stdout.split('\n')[0]!;
  const heard = await eventually(
    async () => {
      const said = await askByEgress(socket, '100.64.0.2:10250');
      return said.includes('hello') && said;
    },
    { withinMs: 30_000 },
  );
  assert.match(String(heard), /^HTTP\/1\.1 200 .*hello of one$/s);
  for (const target of ['100.64.0.9:10250', '100.64.16.2:10250', `${server}:22`, '127.0.0.1:22'])
    assert.match(await askByEgress(socket, target), /^HTTP\/1\.1 (403|502) /, target);

  // So does a load balancer, whose program is another one than the server.
  const web = "require('net').createServer((s) => s.end('hello from inside')).listen(30080, '100.64.0.2')";
  const pod = spawn('ip', ['netns', 'exec', `${own}one`, process.execPath, '-e', web], { stdio: 'ignore' });
  t.after(() => pod.kill('SIGKILL'));
  const admin = await adminOf(owner, 'prod');
  await setNode(admin, 'one', '100.64.0.2', true);
  await makeService(admin, 'web', { ports: [{ port: 8_080, nodePort: 30_080 }] });
  assert.equal(await talkUntil(await untilAddress(admin, 'web'), 8_080), 'hello from inside');

  // A node that sends elsewhere by the mesh, or from another node's address, reaches nothing.
  ip(`addr add 198.51.100.1/32 dev ${own}b`);
  const key = (await machines.get('one')!.wg('show', 'qdmesh', 'peers')).split('\n')[0]!;
  await machines.get('one')!.wg('set', 'qdmesh', 'peer', key, 'allowed-ips', '0.0.0.0/0');
  await inside('one', 'ip', 'route', 'add', '198.51.100.1/32', 'dev', 'qdmesh');
  assert.equal(await reaches('one', '198.51.100.1'), false, 'an address of the server');
  await inside('one', 'ip', 'addr', 'add', '100.64.0.9/32', 'dev', 'qdmesh');
  assert.equal(await reaches('one', hub, '-I', '100.64.0.9'), false, 'the address of another');
  assert.equal(await reaches('one', hub), true, 'its own still does');

  // A node that joined without a key is put in by the same script.
  await machine(t, 'three', 3);
  const later = `while [ ! -s /etc/kubernetes/kubelet.conf ]; do sleep 0.2; done; curl -fsSL ${url}/join.sh | sh -s -- --mesh; kubeadm done`;
  const three = await joinMachine(t, folder, 'three', later);
  const token3 = await joinToken(owner, 'prod');
  const { way: way3 } = await joinNode({ server: `https://${listen}`, ca }, token3, 'three');
  assert.match((await usage()).join(), /three joined without a key/);
  await three.addCertificate(way3);
  assert.equal(await three.args(), 'done\n');
  await eventually(() => reaches('three', '100.64.0.3'), { withinMs: 30_000 });
  assert.deepEqual(await usage(), []);
  assert.match(await readFile(join(folder, 'three/etc/default/kubelet'), 'utf8'), /--node-ip=100\.64\.0\.4/);

  assert.equal((await answered(() => owner.delete('/clusters/prod/nodes/one'))).status, 204);
  await eventually(async () => !(await reaches('one', hub)), { withinMs: 2_000 });
  assert.equal(await reaches('two', '100.64.0.2'), false);
  assert.equal(await reaches('two', hub), true, 'others stay');

  // The interface is made anew when something takes it away, and goes with the cluster.
  const names = async (): Promise<string[]> => (await run('ip', ['netns', 'list'])).stdout.match(/^qd[0-9a-f]{13}/gm) ?? [];
  const [before] = await names();
  await run('ip', ['netns', 'del', before!]);
  await eventually(() => reaches('two', hub), { withinMs: 60_000 });
  await owner.delete('/clusters/prod');
  await eventually(async () => !(await names()).includes(before!), { withinMs: 60_000 });
});
