#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { handOver, superviseEntry } from './hand-over.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const [, typed, ...args] = process.argv;

// A clone runs its sources; the npm package carries compiled ones, because Node runs no TypeScript below node_modules.
if (existsSync(join(root, 'src', 'main.ts'))) {
  const { ensureInstalled } = await import('../scripts/install.mjs');
  await ensureInstalled({ dev: false });
  await run('src/main.ts');
} else {
  await run('dist/src/main.js');
}

/** A server has a parent that starts another when it crashes; every other command replaces this process. */
async function run(entry) {
  if (args[0] === 'serve') await superviseEntry({ root, args, typed });
  else handOver({ root, entry, args, typed });
}
