// Runs test files on one PostgreSQL: started here, handed down to each file, stopped at the end. With QUARTERDECK_TEST_AGAIN a few
// files that failed run once more, alone, and the end says so: a machine that stalls for seconds should not cost a change its landing.
import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { handDown, startTestServer } from './harness/postgres.ts';

const sets = {
  clients: ['test/clients/**/*.test.ts'],
  faults: ['test/faults/**/*.ts'],
  all: [
    'contract/**/*.test.ts',
    'src/**/*.test.ts',
    'sdk/**/*.test.ts',
    'cli/**/*.test.ts',
    'test/{matrix,conformance,platform,harness}/**/*.test.ts',
  ],
};

const args = process.argv.slice(2);
const named = args.filter((a) => !a.startsWith('--'));
const patterns = named.length ? named : args.includes('--clients') ? sets.clients : args.includes('--faults') ? sets.faults : sets.all;
const files = patterns.flatMap((p) => globSync(p)).sort();
if (!files.length) {
  console.error(`no test files match ${patterns.join(' ')}`);
  process.exit(1);
}

/** Runs files and says with which code it ended and which of them failed. */
async function run(some: string[], concurrency: number): Promise<{ code: number; failed: string[] }> {
  const list = join(await mkdtemp(join(tmpdir(), 'qdf-')), 'failed');
  const child = spawn(
    process.execPath,
    [
      '--test',
      `--test-concurrency=${concurrency}`,
      '--test-timeout=180000',
      '--test-reporter=dot',
      '--test-reporter-destination=stderr',
      '--test-reporter=./test/reporter.ts',
      '--test-reporter-destination=stdout',
      ...some,
    ],
    {
      stdio: 'inherit',
      env: { ...process.env, ...handDown(server), QUARTERDECK_TEST_FAILED: list },
    },
  );
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, pass);
  const code = await new Promise<number>((resolve) => child.once('exit', (c) => resolve(c ?? 1)));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, pass);
  const failed = existsSync(list) ? [...new Set(readFileSync(list, 'utf8').split('\n').filter(Boolean))] : [];
  await rm(dirname(list), { recursive: true });
  return { code, failed };
}

/** So many files may fail beside the others and pass alone before the run counts as failed. */
const unsteadyAtMost = 5;
const again = Boolean(process.env.QUARTERDECK_TEST_AGAIN);

const server = await startTestServer();
const first = await run(files, again ? 2 : 3); // side by side with nobody to wait for it, it need not press the machine
let { code } = first;
if (code === 1 && again && first.failed.length && first.failed.length <= unsteadyAtMost) {
  console.log('\nonce more, alone:');
  code = (await run(first.failed, 1)).code;
  if (code === 0) console.log(`UNSTEADY, to be mended: ${first.failed.join(' ')} failed above and passed alone`);
}
await server.stop();
process.exit(code);
