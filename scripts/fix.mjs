// `npm run fix`: mends what a machine can mend: style, and everything that is generated, each from what stands before it.
// `--no-matrix` leaves out the authorization matrix, which takes a minute. Migrations are noted by `npm run migrations`, on purpose apart.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNode } from '../bin/hand-over.mjs';
import { ensureInstalled } from './install.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
await ensureInstalled({ dev: true });
const node = findNode(root);
const screens = 'test/console/every-screen-and-role-is-in-the-committed-table.test.ts';
const matrix = [
  'test/matrix/every-operation-answers-each-caller-as-committed.test.ts',
  'test/matrix/operations-of-the-larger-areas-answer-as-committed.test.ts',
];

const steps = {
  style: ['node_modules/@biomejs/biome/bin/biome', 'check', '--write', '--error-on-warnings', '--log-level=error', '.'],
  'scripts/patterns/verdicts.json': ['scripts/patterns.ts'],
  'docs/operating.md': ['scripts/settings.ts'],
  'openapi/v1.json': ['scripts/openapi.ts'],
  'sdk/generated': ['scripts/sdk.ts'],
  'test/console/screens.txt': ['test/run.ts', screens],
  ...(process.argv.includes('--no-matrix') ? {} : { 'test/matrix/authorization': ['test/run.ts', ...matrix] }),
};

const run = (command) =>
  new Promise((resolve) => {
    const env = { ...process.env, QUARTERDECK_UPDATE: '1' };
    const child = spawn(node, command, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.once('exit', (code) => resolve({ code, output }));
  });

let failed = 0;
for (const [name, command] of Object.entries(steps)) {
  const { code, output } = await run(command);
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  if (code === 0) continue;
  failed++;
  console.log(output.trimEnd());
}
console.log('read what changed with `git diff`, every line of test/matrix/authorization above all; then `npm run check`');
process.exit(failed ? 1 : 0);
