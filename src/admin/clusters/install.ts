import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tell } from '../../../cli/tell.ts';
import { parseVersion } from '../../areas/clusters/index.ts';
import { binariesDir, etcdNames, listInstalled, programNames } from '../../drivers/process/index.ts';
import { audit, operator } from '../../identity/audit.ts';
import type { Config } from '../../kernel/config.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { type Guard, makeOperatorGuard } from '../../kernel/guard/index.ts';
import { installation } from '../organization.ts';
import { type Progress, withProgress } from '../progress.ts';
import { hasDatabase, readSettings, type Session, withSession } from '../session.ts';
import { buildEtcd, buildKine, buildPrograms } from './build.ts';
import { etcdFile, fetchVerified, kineFile, kubernetesFile, maxBytes } from './release-files.ts';
import { unpack } from './unpack.ts';

// A version is gathered in a folder beside the others, tried, and renamed into place whole: servers that look meanwhile see it or do not.

export interface InstallOptions {
  from?: string;
  build?: boolean;
}

/** Puts a program into a folder under its name; of `etcd` also etcdutl. */
type Source = (name: string, folder: string) => Promise<void>;

const refuse = (sentence: string, cause?: unknown): never => {
  throw new Stop(exitCodes.refused, sentence, { cause });
};

export function requireReal(version: string): void {
  if (parseVersion(version)?.driver !== 'process') refuse(`${version} is not a version of Kubernetes; write it like v1.36.4`);
}

export async function installVersion(version: string, options: InstallOptions): Promise<void> {
  requireReal(version);
  if (options.from !== undefined && options.build) refuse('--from and --build exclude each other; choose one');
  const config = readSettings();
  const dir = binariesDir(config);
  const isInstalled = (await listInstalled(dir)).some((each) => each.version === version);
  if (isInstalled) console.log(`${version} is installed already, in ${dir}`);
  if (isInstalled && (await hasEtcd(dir))) return;
  const staging = join(dir, `.installing-${version}`);
  await mkdir(staging, { recursive: true }).catch((error) =>
    refuse(`${dir} cannot be written (${error.code}); set QUARTERDECK_CLUSTER_BINARIES`, error),
  );
  const leave = () => {
    tell(
      `\nquarterdeck: interrupted: ${version} is not installed; what was fetched so far is in ${staging}, and the same command goes on from there`,
    );
    process.exit(130);
  };
  process.once('SIGINT', leave);
  await withProgress(async (progress) => {
    const source = sourceOf(version, config, options, { staging, progress });
    if (isInstalled) return putEtcd(source, dir, staging);
    if (!(await isThere(join(dir, 'kine')))) await putKine(source, dir, staging);
    for (const name of programNames) {
      await source(name, staging);
      progress.begin(`trying ${name}`);
      await tryProgram(join(staging, name), version, name);
    }
    if (!(await hasEtcd(dir))) await putEtcd(source, dir, staging);
  }).finally(() => process.off('SIGINT', leave));
  if (isInstalled) return rm(staging, { recursive: true, force: true });
  await putInPlace(staging, join(dir, version));
  console.log(`${version} is installed in ${dir}; servers with the role shard see it within seconds`);
  if (hasDatabase(config)) await noteInstalled(version, { from: options.from ?? (options.build ? 'built' : 'releases') });
}

/** A machine may have its programs before it has a database, or while that is away: what is installed stays, and is said to be unaudited. */
async function noteInstalled(version: string, detail: { from: string }): Promise<void> {
  const note = ({ db }: Session) =>
    db.write((tx) => audit(tx, operator(installation), 'clusters.version.install', { id: version }, detail));
  await withSession(note).catch((error) => {
    if (!(error instanceof Stop)) throw error;
    tell(`it could not be written into the audit log: ${error.message}`);
  });
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Released programs run on Linux alone; others build or bring their own. */
const architectures: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

interface Work {
  staging: string;
  progress: Progress;
}

function sourceOf(version: string, config: Config, { from, build }: InstallOptions, { staging, progress }: Work): Source {
  if (from !== undefined) return copyFrom(from, version, progress);
  if (build) return buildInto(version, { staging, progress });
  const arch = architectures[process.arch];
  if (process.platform !== 'linux' || !arch)
    return refuse(`Kubernetes releases no server programs for ${process.platform} ${process.arch}; use --build or --from`);
  const guard = makeOperatorGuard(config.dns_servers);
  const mirror = config.cluster_mirror;
  const [kubernetes, kine, etcd] = mirror
    ? [mirror, `${mirror}/kine`, `${mirror}/etcd`]
    : ['https://dl.k8s.io', 'https://github.com/k3s-io/kine/releases/download', 'https://github.com/etcd-io/etcd/releases/download'];
  return async (name, folder) => {
    if (name === 'etcd') return fetchEtcd(guard, etcdFile(etcd, arch), folder, progress);
    const file = name === 'kine' ? kineFile(kine, arch) : kubernetesFile(kubernetes, version, arch, name);
    console.log(`fetching ${file.url}`);
    await fetchVerified(guard, file, join(folder, name), progress);
  };
}

async function fetchEtcd(guard: Guard, file: ReturnType<typeof etcdFile>, folder: string, progress: Progress): Promise<void> {
  console.log(`fetching ${file.url}`);
  const archive = join(folder, 'etcd.tar.gz');
  await fetchVerified(guard, file, archive, progress);
  const wanted = etcdNames.map((name) => ({ entry: `${file.folder}/${name}`, path: join(folder, name), maxBytes: maxBytes.program }));
  await unpack(archive, wanted).catch((error: Error) => refuse(`${file.url} cannot be unpacked: ${error.message}`, error));
  await rm(archive, { force: true });
}

function copyFrom(from: string, version: string, progress: Progress): Source {
  const copy = async (path: string, name: string, folder: string) => {
    progress.begin(`copying ${name}`);
    await copyFile(path, join(folder, name)).catch((error) =>
      refuse(
        `${path} cannot be copied (${error.code}); --from takes a folder with kine, etcd, etcdutl and ${version}/${programNames.join(', ')}`,
        error,
      ),
    );
  };
  return async (name, folder) => {
    if (name === 'etcd') for (const each of etcdNames) await copy(join(from, each), each, folder);
    else await copy(join(from, name === 'kine' ? '' : version, name), name, folder);
  };
}

/** All programs of a version are built at once: what they share is compiled once. */
function buildInto(version: string, { staging, progress }: Work): Source {
  let built: Promise<void> | undefined;
  return (name, folder) => {
    if (name === 'etcd') return buildEtcd(folder, join(staging, 'module'), progress);
    if (name === 'kine') return buildKine(folder, join(staging, 'module'), progress);
    built ??= buildPrograms(version, programNames, { into: staging, work: join(staging, 'module'), progress });
    return built;
  };
}

async function putKine(source: Source, dir: string, staging: string): Promise<void> {
  await source('kine', staging);
  await tryProgram(join(staging, 'kine'), undefined, 'kine');
  await rename(join(staging, 'kine'), join(dir, 'kine'));
}

const hasEtcd = async (dir: string) => (await Promise.all(etcdNames.map((name) => isThere(join(dir, name))))).every(Boolean);

/** Only dedicated datastores need etcd, so a version is installed without it where it cannot be had. */
async function putEtcd(source: Source, dir: string, staging: string): Promise<void> {
  try {
    await source('etcd', staging);
    for (const name of etcdNames) await tryProgram(join(staging, name), undefined, name);
    // etcdutl first: a server that sees etcd finds both.
    for (const name of [...etcdNames].reverse()) await rename(join(staging, name), join(dir, name));
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    tell(`etcd is not installed, so new clusters have no dedicated datastore; the same command tries again. ${error.message}`);
  }
}

/** How each program is asked for its version, and how it answers. etcd: this minor or a newer one of the same major. */
const versionAnswers: Record<string, { args: string[]; isRight(said: string): boolean }> = {
  kine: { args: ['--version'], isRight: (said) => said.startsWith('kine version') },
  etcd: { args: ['--version'], isRight: (said) => isEtcdVersion(/^etcd Version: 3\.(\d{1,4})\.\d/.exec(said)) },
  etcdutl: { args: ['version'], isRight: (said) => isEtcdVersion(/^etcdutl version: 3\.(\d{1,4})\.\d/.exec(said)) },
};

const isEtcdVersion = (found: RegExpExecArray | null) => found !== null && Number(found[1]) >= 6;

/** It must run here, and say that it is what it is taken for. */
async function tryProgram(path: string, version: string | undefined, name: string): Promise<void> {
  await chmod(path, 0o755);
  const limits = { timeout: 60_000, maxBuffer: 64 * 2 ** 10, env: { PATH: '/usr/bin:/bin' } };
  const { args, isRight } = versionAnswers[name] ?? { args: ['--version'], isRight: (said: string) => said === `Kubernetes ${version}` };
  const { stdout } = await promisify(execFile)(path, args, limits).catch(async (error) => {
    await rm(path, { force: true });
    return refuse(`${name} does not run on this machine (${error.code ?? error.message}); nothing was installed`, error);
  });
  const said = stdout.trim().slice(0, 100);
  if (isRight(said)) return;
  await rm(path, { force: true });
  refuse(`${name} says that it is “${said}”, not ${version ?? name}; nothing was installed`);
}

async function putInPlace(staging: string, folder: string): Promise<void> {
  for (const name of await readdir(staging))
    if (!programNames.some((known) => known === name)) await rm(join(staging, name), { recursive: true });
  await chmod(staging, 0o755);
  // What stands there is not whole, or we would not be here.
  await rm(folder, { recursive: true, force: true });
  await rename(staging, folder);
}
