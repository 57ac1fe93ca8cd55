// Clients that are written in Go, against a whole server: `node test/clients/go/run.ts [crane cosign oras containerd docker pebble s3 kubernetes clusters coredns conformance conformance-node]`.
// They are built by Go from its module proxy, which takes minutes, into a folder that is kept for the next time
// (QUARTERDECK_GO_CLIENTS, or quarterdeck-go-clients among the temporary files). Nothing else is reached but loopback.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPackages } from '../../../src/admin/clusters/build.ts';
import { noProgress } from '../../../src/admin/progress.ts';
import { dnsVersionOf } from '../../../src/areas/clusters/rules/addons/index.ts';

const here = import.meta.dirname;
/** The newest Kubernetes that is tried. */
const newest = 'v1.36.4';
const folder = process.env['QUARTERDECK_GO_CLIENTS'] ?? join(tmpdir(), 'quarterdeck-go-clients');

interface Program {
  name: string;
  module: string;
  version: string;
  package: string;
}

const containerd = { name: 'containerd', module: 'github.com/containerd/containerd/v2', version: 'v2.4.2', package: './cmd/containerd' };

const coredns = { name: 'coredns', module: 'github.com/coredns/coredns', version: dnsVersionOf(newest), package: '.' };
const ofNode = [
  ...['containerd', 'ctr', 'containerd-shim-runc-v2'].map((name) => ({ ...containerd, name, package: `./cmd/${name}` })),
  coredns,
];

const programs: Record<string, Program[]> = {
  crane: [{ name: 'crane', module: 'github.com/google/go-containerregistry', version: 'v0.22.1', package: './cmd/crane' }],
  cosign: [{ name: 'cosign', module: 'github.com/sigstore/cosign/v3', version: 'v3.1.3', package: './cmd/cosign' }],
  // The command itself is not on the proxy under its name; this is the library that it is made of, with a command of ours around it.
  oras: [{ name: 'oras-go', module: 'oras.land/oras-go/v2', version: 'v2.6.4', package: join(here, 'oras.go') }],
  containerd: [containerd, { ...containerd, name: 'ctr', package: './cmd/ctr' }],
  // Its command is taken as it is installed; the daemon starts a containerd of its own.
  docker: [containerd, { name: 'dockerd', module: 'github.com/moby/moby/v2', version: 'v2.0.0-beta.24', package: './cmd/dockerd' }],
  pebble: [{ name: 'pebble', module: 'github.com/letsencrypt/pebble/v2', version: 'v2.10.1', package: './cmd/pebble' }],
  // Of the newest Kubernetes below.
  coredns: [coredns],
  conformance: ofNode,
  // Of the tests of `conformance`, those alone that need a node.
  'conformance-node': ofNode,
  s3: [{ name: 'versitygw', module: 'github.com/versity/versitygw', version: 'v1.8.0', package: './cmd/versitygw' }],
};

const conformancePrograms = ['kubectl', 'e2e.test', 'kubeadm', 'kubelet', 'kube-proxy', 'agnhost', 'nnp', 'sample-apiserver'];

/** What is no command of Kubernetes: its tests, and what its test images hold. */
const testPackages: Record<string, string> = {
  'e2e.test': 'k8s.io/kubernetes/test/e2e',
  agnhost: 'k8s.io/kubernetes/test/images/agnhost',
  nnp: 'k8s.io/kubernetes/test/images/nonewprivs',
  'sample-apiserver': 'k8s.io/sample-apiserver',
};

/** What a group needs of Kubernetes. */
const ofKubernetes: Record<string, { versions: string[]; programs: string[] }> = {
  kubernetes: { versions: ['v1.35.8', newest], programs: ['kubeadm', 'kubelet', 'kubectl'] },
  clusters: { versions: ['v1.35.8', newest], programs: [] },
  coredns: { versions: [newest], programs: [] },
  conformance: { versions: [newest], programs: conformancePrograms },
  'conformance-node': { versions: [newest], programs: conformancePrograms },
};

/** Built by the product itself, as an operator would; QUARTERDECK_CLUSTER_BINARIES names a folder that has them already. */
const kubernetesFolder = process.env['QUARTERDECK_CLUSTER_BINARIES'] ?? join(folder, 'kubernetes');

const groups = [...new Set([...Object.keys(programs), ...Object.keys(ofKubernetes)])];
const wanted = process.argv.length > 2 ? process.argv.slice(2) : groups;
const unknown = wanted.find((name) => !groups.includes(name));
if (unknown) {
  console.error(`there is no client "${unknown}"; there are ${groups.join(', ')}`);
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
for (const program of wanted.flatMap((name) => programs[name] ?? [])) if (!existsSync(join(folder, program.name))) build(program);

const needed = wanted.flatMap((name) => ofKubernetes[name] ?? []);
for (const version of new Set(needed.flatMap(({ versions }) => versions))) installKubernetes(version);
await buildOfKubernetes([...new Set(needed.flatMap((each) => each.programs))]);

const files = readdirSync(here)
  .filter((file) => wanted.some((name) => file.startsWith(`${name}-`) && file.endsWith('.client.ts')))
  .map((file) => join('test/clients/go', file));
// Also run by test:clients, where the server is installed.
if (wanted.includes('s3')) files.push('test/clients/storage-a-real-s3-server-keeps-the-contract.test.ts');
const tests = spawnSync(
  process.execPath,
  [join(here, '../../run.ts'), ...files, ...(wanted.some((name) => name.startsWith('conformance')) ? ['--long'] : [])],
  {
    stdio: 'inherit',
    cwd: join(here, '../../..'),
    env: { ...process.env, PATH: `${folder}:${process.env['PATH']}`, QUARTERDECK_TEST_CLUSTER_BINARIES: kubernetesFolder },
  },
);
process.exit(tests.status ?? 1);

/** Programs of the newest version beside those of a control plane; what is in the PATH is taken from there, but its tests are its own. */
async function buildOfKubernetes(names: readonly string[]) {
  const paths = [folder, ...process.env['PATH']!.split(':')];
  const lacking = names.filter((name) => !paths.some((dir) => existsSync(join(dir, name))));
  const packages = lacking.map((name) => ({
    name,
    package: testPackages[name] ?? `k8s.io/kubernetes/cmd/${name}`,
    isTest: name.endsWith('.test'),
  }));
  if (packages.length > 0)
    await buildPackages(newest, packages, { into: folder, work: join(folder, 'kubernetes.source'), progress: noProgress });
}

function installKubernetes(version: string) {
  const env = { ...process.env, QUARTERDECK_CLUSTER_BINARIES: kubernetesFolder };
  execFileSync(process.execPath, [join(here, '../../../src/main.ts'), 'admin', 'clusters', 'install', version, '--build'], {
    env,
    stdio: 'inherit',
  });
}

/** In a copy of the module's own source, so that its go.mod decides about its dependencies, or in a module of its own around one file. */
function build({ name, module, version, package: at }: Program) {
  console.log(`building ${name} of ${module} ${version}; this takes minutes`);
  const source = join(folder, `${name}.source`);
  const env = { ...process.env, GOFLAGS: '-buildvcs=false -mod=mod' };
  const go = (...args: string[]) => execFileSync('go', args, { cwd: source, env, stdio: ['ignore', 'pipe', 'inherit'] }).toString();
  rmSync(source, { recursive: true, force: true });
  mkdirSync(source);
  if (at.endsWith('.go')) {
    writeFileSync(join(source, 'go.mod'), `module ${name}\n\ngo 1.24\n\nrequire ${module} ${version}\n`);
    cpSync(at, join(source, 'main.go'));
  } else {
    const { Dir } = JSON.parse(go('mod', 'download', '-json', `${module}@${version}`)) as { Dir: string };
    cpSync(Dir, source, { recursive: true });
    execFileSync('chmod', ['-R', 'u+w', source]);
  }
  go('build', '-o', join(folder, `${name}.new`), at.endsWith('.go') ? '.' : at);
  chmodSync(join(folder, `${name}.new`), 0o755);
  renameSync(join(folder, `${name}.new`), join(folder, name));
  rmSync(source, { recursive: true, force: true });
}
