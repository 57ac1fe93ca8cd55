import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

// A process that a test starts mostly loads: two thousand files, seven thousand imports. A run starts some hundred such processes.

/** As bin/hand-over.mjs has it: what is stripped and compiled once is not stripped and compiled again. */
export const compileCache = { NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/quarterdeck') };

/** What bin/hand-over.mjs starts with where memory and latency are measured. */
export const { memoryFlags } = createRequire(import.meta.url)('../../bin/hand-over.mjs') as { memoryFlags: string[] };

/**
 * The rest of what it starts with. And nothing here is reached through a link, which Node need not make sure of at every import. V8's helpers
 * are as many as there: beside others, its own four take a tenth of a test process's CPU to wait for each other.
 */
export const quickFlags = [
  ...memoryFlags.filter((flag) => flag.startsWith('--v8-pool-size=')),
  ...['--import', pathToFileURL(join(import.meta.dirname, '../../bin/quick-start.mjs')).href],
  ...['--preserve-symlinks', '--preserve-symlinks-main'],
];
