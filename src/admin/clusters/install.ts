import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tell } from '../../../cli/tell.ts';
import { parseVersion } from '../../areas/clusters/index.ts';
import { binariesDir, listInstalled, programNames } from '../../drivers/process/index.ts';
import { audit, operator } from '../../identity/audit.ts';
import type { Config } from '../../kernel/config.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { makeOperatorGuard } from '../../kernel/guard/index.ts';
import { installation } from '../organization.ts';
import { type Progress, withProgress } from '../progress.ts';
import { hasDatabase, readSettings, type Session, withSession } from '../session.ts';
import { buildKine, buildPrograms } from './build.ts';
import { fetchVerified, kineFile, kubernetesFile } from './release-files.ts';

// A version is gathered in a folder beside the others, tried, and renamed into place whole: servers that look meanwhile see it or do not.

export interface InstallOptions {
  from?: string;
  build?: boolean;
}

/** Puts a program into a folder under its name. */
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
  if ((await listInstalled(dir)).some((each) => each.version === version))
    return void console.log(`${version} is installed already, in ${dir}`);
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
    if (!(await isThere(join(dir, 'kine')))) await putKine(source, dir, staging);
    for (const name of programNames) {
      await source(name, staging);
      progress.begin(`trying ${name}`);
      await tryProgram(join(staging, name), version, name);
    }
  }).finally(() => process.off('SIGINT', leave));
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
  const [kubernetes, kine] = config.cluster_mirror
    ? [config.cluster_mirror, `${config.cluster_mirror}/kine`]
    : ['https://dl.k8s.io', 'https://github.com/k3s-io/kine/releases/download'];
  return async (name, folder) => {
    const file = name === 'kine' ? kineFile(kine, arch) : kubernetesFile(kubernetes, version, arch, name);
    console.log(`fetching ${file.url}`);
    await fetchVerified(guard, file, join(folder, name), progress);
  };
}

function copyFrom(from: string, version: string, progress: Progress): Source {
  return async (name, folder) => {
    progress.begin(`copying ${name}`);
    const path = join(from, name === 'kine' ? '' : version, name);
    await copyFile(path, join(folder, name)).catch((error) =>
      refuse(`${path} cannot be copied (${error.code}); --from takes a folder with kine and ${version}/${programNames.join(', ')}`, error),
    );
  };
}

/** All programs of a version are built at once: what they share is compiled once. */
function buildInto(version: string, { staging, progress }: Work): Source {
  let built: Promise<void> | undefined;
  return (name, folder) => {
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

/** It must run here, and say that it is what it is taken for. */
async function tryProgram(path: string, version: string | undefined, name: string): Promise<void> {
  await chmod(path, 0o755);
  const limits = { timeout: 60_000, maxBuffer: 64 * 2 ** 10, env: { PATH: '/usr/bin:/bin' } };
  const { stdout } = await promisify(execFile)(path, ['--version'], limits).catch(async (error) => {
    await rm(path, { force: true });
    return refuse(`${name} does not run on this machine (${error.code ?? error.message}); nothing was installed`, error);
  });
  const said = stdout.trim().slice(0, 100);
  const isRight = version === undefined ? said.startsWith('kine version') : said === `Kubernetes ${version}`;
  if (isRight) return;
  await rm(path, { force: true });
  refuse(`${name} says that it is “${said}”, not ${version ?? 'kine'}; nothing was installed`);
}

async function putInPlace(staging: string, folder: string): Promise<void> {
  for (const name of await readdir(staging))
    if (!programNames.some((known) => known === name)) await rm(join(staging, name), { recursive: true });
  await chmod(staging, 0o755);
  // What stands there is not whole, or we would not be here.
  await rm(folder, { recursive: true, force: true });
  await rename(staging, folder);
}
