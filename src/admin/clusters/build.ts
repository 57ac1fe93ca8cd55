import { spawn } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import type { Progress } from '../progress.ts';
import { kineVersion } from './release-files.ts';

// Kubernetes' programs through Go, from the sources that its module proxy serves. `go install` refuses k8s.io/kubernetes because of its replace
// directives, so a module of our own around it has them rewritten to the same modules' released versions.

interface Run {
  cwd: string;
  args: readonly string[];
}

/** Returns its standard output; its standard error goes to the terminal. */
async function runGo({ cwd, args }: Run): Promise<string> {
  const child = spawn('go', [...args], {
    cwd,
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod', GOWORK: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number>((resolve, reject) => child.once('error', reject).once('close', (code) => resolve(code ?? 1)));
  const [said, code] = await Promise.all([readText(child.stdout), ended]).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT'
      ? new Stop(exitCodes.refused, 'there is no `go` in the PATH; install Go 1.26 or newer, or install without --build')
      : error;
  });
  if (code !== 0) throw new Stop(exitCodes.refused, `go ${args[0]} failed with status ${code}; what it said is above`);
  return said;
}

/** The go.mod of a module that builds Kubernetes' programs: `./staging/…` becomes the same module at the version of the release. */
export function builderModule(version: string, itsModule: string): string {
  const go = /^go \S+$/m.exec(itsModule)?.[0] ?? 'go 1.26';
  const staging = version.replace(/^v1\./, 'v0.');
  const replaces = itsModule.split('\n').flatMap((line) => {
    const [name, target = ''] = line
      .trim()
      .replace(/^replace /, '')
      .split(' => ');
    return target.startsWith('./staging/') ? [`replace ${name} => ${name} ${staging}`] : [];
  });
  return ['module builder', go, `require k8s.io/kubernetes ${version}`, ...replaces, ''].join('\n');
}

/** Builds the programs of a version into `into`. Takes ten minutes of two cores the first time, and 3 GB of Go's caches. */
export async function buildPrograms(
  version: string,
  names: readonly string[],
  given: Pick<Built, 'into' | 'work' | 'progress'>,
): Promise<void> {
  const programs = names.map((name) => ({ name, package: `k8s.io/kubernetes/cmd/${name}` }));
  await buildPackages(version, programs, given);
}

/** Packages of Kubernetes' own module. */
export async function buildPackages(
  version: string,
  programs: Built['programs'],
  { into, work, progress }: Pick<Built, 'into' | 'work' | 'progress'>,
): Promise<void> {
  progress.begin(`downloading the sources of ${version}`);
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  const downloaded = await runGo({ cwd: work, args: ['mod', 'download', '-json', `k8s.io/kubernetes@${version}`] });
  const sources = (JSON.parse(downloaded) as { Dir: string }).Dir;
  const module = builderModule(version, await readFile(join(sources, 'go.mod'), 'utf8'));
  const says = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].map((name) => `-X ${name}.gitVersion=${version}`);
  await buildAll({ version, module, programs, says, into, work, progress });
}

/** Not by `go install`, which asks the proxy for every version of the module that there is, and some proxies do not tell. */
export async function buildKine(into: string, work: string, progress: Progress): Promise<void> {
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  const name = 'github.com/k3s-io/kine';
  const module = ['module builder', 'go 1.25', `require ${name} ${kineVersion}`, ''].join('\n');
  await buildAll({ version: kineVersion, module, programs: [{ name: 'kine', package: name }], says: [], into, work, progress });
}

interface Built {
  version: string;
  module: string;
  programs: readonly { name: string; package: string; isTest?: boolean }[];
  /** What the linker writes into them. */
  says: readonly string[];
  into: string;
  work: string;
  progress: Progress;
}

async function buildAll({ version, module, programs, says, into, work, progress }: Built): Promise<void> {
  await writeFile(join(work, 'go.mod'), module);
  const imports = programs.map((each) => `import _ "${each.package}"`);
  await writeFile(join(work, 'programs.go'), ['//go:build programs', '', 'package programs', '', ...imports, ''].join('\n'));
  progress.begin('downloading modules');
  await runGo({ cwd: work, args: ['mod', 'tidy'] });
  for (const each of programs) {
    console.log(`building ${each.name} ${version}`);
    progress.begin(`building ${each.name}`);
    const flags = ['-trimpath', '-ldflags', ['-s -w', ...says].join(' ')];
    await runGo({
      cwd: work,
      args: [...(each.isTest ? ['test', '-c', '-vet=off'] : ['build']), ...flags, '-o', join(into, each.name), each.package],
    });
  }
  await rm(work, { recursive: true, force: true });
}
