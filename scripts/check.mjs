// The house rules, side by side: types, style, imports, dead code, licences, migrations, freshness of what is generated.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileCache, findNode, importsFlags } from '../bin/hand-over.mjs';
import { ensureInstalled } from './install.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
await ensureInstalled({ dev: true });
const node = findNode(root);
const tool = (path) => join(root, 'node_modules', path);

// What it found of a file holds until the file, or one that it leans on, changes.
const rememberedAs = (name) => ['--incremental', '--tsBuildInfoFile', tool(`.cache/${name}.tsbuildinfo`)];
const checks = {
  types: [tool('typescript-7/bin/tsc'), '--noEmit', '-p', '.', '--checkers', '1', ...rememberedAs('types')],
  'types of the console': [tool('typescript-7/bin/tsc'), '--noEmit', '-p', 'console', '--checkers', '1', ...rememberedAs('console')],
  style: [tool('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.'],
  imports: ['scripts/check-imports.ts'],
  'dead code': [tool('knip/bin/knip.js'), '--no-progress', '--no-config-hints'],
  licences: ['scripts/check-licences.ts'],
  'house rules': ['scripts/check-house.ts'],
  patterns: ['scripts/patterns.ts', '--check'],
  migrations: ['scripts/migrations.ts', '--check'],
  settings: ['scripts/settings.ts', '--check'],
  openapi: ['scripts/openapi.ts', '--check'],
  sdk: ['scripts/sdk.ts', '--check'],
};

// Most of what these programs cost at their start is what they load.
const env = { ...compileCache(root), ...process.env };

const run = ([, command]) =>
  new Promise((resolve) => {
    const child = spawn(node, [...importsFlags(root), ...command], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.once('exit', (code) => resolve({ code, output }));
  });

let failed = 0;
const queue = Object.entries(checks);
const worker = async () => {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const began = performance.now();
    const { code, output } = await run(next);
    console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${next[0]} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    if (code !== 0) {
      failed++;
      console.log(output.trimEnd());
    }
  }
};
await Promise.all([worker(), worker()]);
process.exit(failed ? 1 : 0);
