import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProgramName } from './misbehaviour.ts';

// Programs that stand in for Kubernetes' own: they take the real flags, read the real files, keep their objects in PostgreSQL below a fake kine,
// and misbehave on demand. Their layout is that of the folder of binaries.

export { type Misbehaviour, misbehave, type ProgramName } from './misbehaviour.ts';

const programs: ProgramName[] = ['kine', 'etcd', 'etcdutl', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const source = (name: ProgramName) => join(import.meta.dirname, `${name}.ts`);
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

let stripped: string | undefined;

/** The programs as plain JavaScript, for all that this process installs. Others may read it: as root each cluster's programs run as another user. */
function strippedDir(): string {
  if (stripped) return stripped;
  const dir = mkdtempSync(join(tmpdir(), 'qdf-'));
  chmodSync(dir, 0o755);
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  execFileSync(process.execPath, ['--no-warnings', join(import.meta.dirname, 'strip.ts'), dir, ...programs.map(source)]);
  stripped = dir;
  return dir;
}

/** Puts the programs where real ones would be: `kine`, and `<version>/kube-…` for each version; `etcd` and `etcdutl` if they are wanted. */
export async function installFakes(dir: string, versions: readonly string[], { withEtcd = false } = {}): Promise<void> {
  const put = async (name: ProgramName, version: string) => {
    const path = join(dir, name.startsWith('kube-') ? version : '', name);
    const told = `FAKE_VERSION=${quoted(version)} FAKE_BINARIES=${quoted(dir)}`;
    const program = join(strippedDir(), 'test/fakes/kubernetes', `${name}.mjs`);
    // One process from the start, so that whoever started it knows its id.
    const text = `#!/bin/sh\n${told} exec ${quoted(process.execPath)} --no-warnings ${quoted(program)} "$@"\n`;
    await writeFile(`${path}.new`, text);
    await chmod(`${path}.new`, 0o755);
    await rename(`${path}.new`, path);
  };
  await mkdir(dir, { recursive: true });
  await put('kine', 'v0.14.16');
  if (withEtcd) for (const name of ['etcd', 'etcdutl'] as const) await put(name, '3.6.16');
  for (const version of versions) {
    await mkdir(join(dir, version), { recursive: true });
    for (const name of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const) await put(name, version);
  }
}
