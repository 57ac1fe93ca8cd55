import { spawn } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Caller } from '../../harness/index.ts';
import { scratch } from '../../harness/process.ts';
import { programOf } from '../clusters-kubectl.ts';

/** Kubernetes' own programs, as run.ts has installed them. */
export const binaries = process.env['QUARTERDECK_TEST_CLUSTER_BINARIES'] ?? '';
export const patience = { withinMs: 180_000, everyMs: 200 };

/** kubectl as a person has it: with the configuration that the API gave. */
export async function kubectlOf(t: TestContext, owner: Caller, name: string) {
  const { dir } = await scratch(t);
  const config = join(dir, 'config');
  await writeFile(config, (await owner.get(`/clusters/${name}/kubeconfig`)).body.kubeconfig);
  await chmod(config, 0o600);
  return (...args: string[]) =>
    new Promise<string>((resolve, reject) => {
      const child = spawn(programOf('v36', 'kubectl'), args, {
        env: { HOME: dir, KUBECONFIG: config, PATH: process.env['PATH']! },
        timeout: 120_000,
      });
      let said = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
      child.once('error', reject).once('close', (code) => (code === 0 ? resolve(said) : reject(new Error(said))));
    });
}
