// Runs test files on one PostgreSQL: started here, handed down to each file, stopped at the end.
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
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

const server = await startTestServer();
const child = spawn(
  process.execPath,
  [
    '--test',
    '--test-concurrency=3',
    '--test-timeout=180000',
    '--test-reporter=dot',
    '--test-reporter-destination=stderr',
    '--test-reporter=./test/reporter.ts',
    '--test-reporter-destination=stdout',
    ...files,
  ],
  {
    stdio: 'inherit',
    env: { ...process.env, ...handDown(server) },
  },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const code = await new Promise<number>((resolve) => child.once('exit', (c) => resolve(c ?? 1)));
await server.stop();
process.exit(code);
