import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { quickFlags } from '../../harness/quick-start.ts';

// Programs that stand in for Kubernetes' own: they take the real flags, read the real files, keep their objects in PostgreSQL below a fake kine,
// and misbehave on demand. Their layout is that of the folder of binaries.

export type ProgramName = 'kine' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler';

export interface Misbehaviour {
  /** Waits so long before it listens. */
  slowStartMs?: number;
  /** Ends with status 2 before it has done anything. */
  crashAtStart?: boolean;
  /** Ends with status 2 after so long. */
  crashAfterMs?: number;
  /** Does not hear SIGTERM. */
  deaf?: boolean;
  /** Says that its port is taken, as if another program were faster. */
  portTaken?: boolean;
  /** /readyz never answers 200: it says that a check fails. */
  neverReady?: boolean;
  /** /readyz answers 500 from the moment this is said. */
  readyz500?: boolean;
  /** Only the program of this version. */
  version?: string;
}

const entry = (name: ProgramName) => new URL(`./${name}.ts`, import.meta.url).pathname;
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

let compiled: string | undefined;

/** What was compiled of the programs, for all that this process installs: half of what a start takes. As root each cluster's run as another user. */
function compiledDir(): string {
  if (compiled) return compiled;
  const dir = mkdtempSync(join(tmpdir(), 'qdf-'));
  if (process.getuid?.() === 0) chmodSync(dir, 0o1777);
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  compiled = dir;
  return dir;
}

/** Puts the programs where real ones would be: `kine`, and `<version>/kube-…` for each version. */
export async function installFakes(dir: string, versions: readonly string[]): Promise<void> {
  const put = async (name: ProgramName, version: string) => {
    const path = join(dir, name === 'kine' ? '' : version, name);
    const told = `FAKE_VERSION=${quoted(version)} FAKE_BINARIES=${quoted(dir)} NODE_COMPILE_CACHE=${quoted(compiledDir())}`;
    // One process from the start, so that whoever started it knows its id.
    const text = `#!/bin/sh\n${told} exec ${quoted(process.execPath)} --no-warnings ${quickFlags.map(quoted).join(' ')} ${quoted(entry(name))} "$@"\n`;
    await writeFile(`${path}.new`, text);
    await chmod(`${path}.new`, 0o755);
    await rename(`${path}.new`, path);
  };
  await mkdir(dir, { recursive: true });
  await put('kine', 'v0.14.16');
  for (const version of versions) {
    await mkdir(join(dir, version), { recursive: true });
    for (const name of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const) await put(name, version);
  }
}

/** What the programs in this folder do from now on: at their next start, and what says so at once. */
export async function misbehave(dir: string, how: Partial<Record<ProgramName, Misbehaviour>>): Promise<void> {
  const path = join(dir, 'misbehave.json');
  await writeFile(`${path}.new`, JSON.stringify(how));
  await rename(`${path}.new`, path);
}

export async function readMisbehaviour(dir: string, name: ProgramName, version: string): Promise<Misbehaviour> {
  const text = await readFile(join(dir, 'misbehave.json'), 'utf8').catch(() => '{}');
  const found = (JSON.parse(text) as Partial<Record<ProgramName, Misbehaviour>>)[name] ?? {};
  return found.version === undefined || found.version === version ? found : {};
}
