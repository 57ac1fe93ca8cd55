import { execFileSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dnsVersionOf } from '../../../src/areas/clusters/rules/addons/index.ts';
import { type Image, writeImages } from './oci-images.ts';

// The images that Kubernetes' own tests and the addons of a new cluster name, made of what Go builds (run.ts) and of this machine's own
// programs. They serve the tests, and are not the published ones: busybox is Debian's, and a web server of busybox is called nginx.

/** From Debian, besides what every system has: busybox-static, bind9-dnsutils, curl, netcat-openbsd, iproute2, iptables. */
const programsOfImages = ['busybox', 'dig', 'curl', 'nc', 'ss', 'getent', 'bash'];
const programsOfProxy = ['xtables-nft-multi'];
/** Built by run.ts. */
const builtPrograms = ['agnhost', 'nnp', 'sample-apiserver', 'kube-proxy', 'coredns'];
export const programsForImages = [...programsOfImages, ...programsOfProxy, ...builtPrograms, 'go', 'skopeo'];

const e2e = 'registry.k8s.io/e2e-test-images';
const library = `/usr/lib/${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu`;
const tables = ['iptables', 'iptables-save', 'iptables-restore', 'ip6tables', 'ip6tables-save', 'ip6tables-restore'];

const pathOf = (name: string) => execFileSync('which', [name]).toString().trim();

async function copyTo(root: string, from: string, to = from): Promise<void> {
  await mkdir(join(root, dirname(to)), { recursive: true });
  await copyFile(from, join(root, to));
}

/** With the libraries that it is linked with, at their own paths. */
async function copyLinked(root: string, file: string, to = file): Promise<void> {
  await copyTo(root, file, to);
  const linked = execFileSync('sh', ['-c', 'ldd "$0" 2> /dev/null || true', file]).toString();
  for (const [path] of linked.matchAll(/\/\S+(?= \(0x)/g)) await copyTo(root, path);
}

async function write(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, dirname(path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

/** A small system: a shell and its commands, agnhost, and what the tests call by name. */
async function makeBase(root: string, version: string): Promise<void> {
  await copyTo(root, pathOf('busybox'), '/bin/busybox');
  const commands = execFileSync('busybox', ['--list']).toString().trim().split('\n');
  for (const name of commands) if (!['busybox', 'sh'].includes(name)) await symlink('busybox', join(root, 'bin', name));
  for (const name of programsOfImages) if (name !== 'busybox') await copyLinked(root, pathOf(name));
  // The shell of Debian's busybox prefers its own commands to those beside it.
  for (const dir of ['bin', 'usr/bin']) await symlink('/usr/bin/bash', join(root, dir, 'sh'));
  await copyTo(root, pathOf('agnhost'), '/agnhost');
  execFileSync('go', ['build', '-o', join(root, 'pod'), join(import.meta.dirname, 'pod.go')], {
    env: { ...process.env, CGO_ENABLED: '0' },
  });
  await symlink('agnhost', join(root, 'agnhost-2'));
  const sources = JSON.parse(execFileSync('go', ['mod', 'download', '-json', `k8s.io/kubernetes@${version}`]).toString()) as {
    Dir: string;
  };
  for (const name of ['localhost.crt', 'localhost.key'])
    await copyTo(root, join(sources.Dir, 'test/images/agnhost/porter', name), `/${name}`);
  // The set-user-id bit: the test asks who it is with and without the right to more privileges.
  await copyTo(root, pathOf('nnp'), '/usr/local/bin/nnp');
  await chmod(join(root, 'usr/local/bin/nnp'), 0o6755);
  for (const dir of ['tmp', 'uploads', 'root', 'var']) await mkdir(join(root, dir), { recursive: true });
  await chmod(join(root, 'tmp'), 0o1777);
  await write(root, {
    'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nuser-defined-in-image:x:1000:1000::/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n',
    'etc/group': 'root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\nnogroup:x:65534:\n',
    'etc/nsswitch.conf': 'hosts: files dns\n',
    // A test reads in a volume what the published image is made of.
    'etc/os-release': 'PRETTY_NAME="In place of an image of Alpine Linux"\n',
    'usr/share/nginx/html/index.html': 'Welcome to nginx!\n',
  });
}

/** Named by its path, the shell is that of busybox, whose words a test expects; found in the PATH it is bash, which hands on variables that a shell
 *  cannot name, as the shell of busybox 1.37 does. Debian 12 has 1.35. */
async function makeBusybox(root: string): Promise<void> {
  await mkdir(join(root, 'bin'));
  await symlink('busybox', join(root, 'bin/sh'));
}

async function makeProxy(root: string): Promise<void> {
  for (const name of programsOfProxy) await copyLinked(root, pathOf(name));
  for (const name of tables) await symlink('xtables-nft-multi', join(root, 'usr/sbin', name));
  for (const file of await readdir(join(library, 'xtables'))) await copyTo(root, join(library, 'xtables', file));
  await copyTo(root, pathOf('kube-proxy'), '/usr/local/bin/kube-proxy');
}

/** All of them as a layout, which is returned, and in the archive `images.tar`, which `ctr images import` takes. */
export async function writeTestImages(folder: string, { version, etcd }: { version: string; etcd: string }): Promise<string> {
  const at = (name: string) => join(folder, 'roots', name);
  const [base, box, proxy, dns, api, store] = [at('base'), at('box'), at('proxy'), at('dns'), at('api'), at('store')];
  for (const root of [base, box, proxy, dns, api, store]) await mkdir(root, { recursive: true });
  await makeBase(base, version);
  await makeBusybox(box);
  await makeProxy(proxy);
  await copyLinked(dns, pathOf('coredns'), '/coredns');
  await copyTo(api, pathOf('sample-apiserver'), '/sample-apiserver');
  await copyTo(store, etcd, '/usr/local/bin/etcd');
  const pictures = ['kitten', 'nautilus'];
  for (const name of pictures) await write(at(name), { 'data.json': JSON.stringify({ image: `${name}.jpg` }) });

  const [Entrypoint, shell] = [['/agnhost'], { Cmd: ['sh'] }];
  const web = { Cmd: ['httpd', '-f', '-p', '80', '-h', '/usr/share/nginx/html'] };
  const images: Image[] = [
    ...['2.55', '2.63.0'].map((tag) => ({ name: `${e2e}/agnhost:${tag}`, folders: [base], config: { Entrypoint, Cmd: ['pause'] } })),
    { name: `${e2e}/busybox:1.37.0-1`, folders: [base, box], config: shell },
    { name: `${e2e}/glibc-dns-testing:2.0.0`, folders: [base], config: shell },
    { name: `${e2e}/nonewprivs:1.4`, folders: [base], config: { Cmd: ['nnp'] } },
    ...['1.15-4', '1.27-0'].map((tag) => ({ name: `${e2e}/nginx:${tag}`, folders: [base], config: web })),
    ...pictures.map((name) => ({ name: `${e2e}/${name}:1.8`, folders: [base, at(name)], config: { Entrypoint, Cmd: ['test-webserver'] } })),
    { name: `${e2e}/sample-apiserver:1.29.2`, folders: [base, api], config: { Entrypoint: ['/sample-apiserver'] } },
    { name: 'registry.k8s.io/etcd:3.6.8-0', folders: [store], config: {} },
    { name: 'registry.k8s.io/pause:3.10.2', folders: [base], config: { Entrypoint: ['/pod'] } },
    { name: `registry.k8s.io/kube-proxy:${version}`, folders: [base, proxy], config: {} },
    { name: `registry.k8s.io/coredns/coredns:${dnsVersionOf(version)}`, folders: [dns], config: { Entrypoint: ['/coredns'] } },
  ];
  const layout = join(folder, 'layout');
  await writeImages(layout, images);
  execFileSync('tar', ['-c', '-f', join(folder, 'images.tar'), '-C', layout, '.']);
  return layout;
}
