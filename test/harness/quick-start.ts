import { join } from 'node:path';

// A process that a test starts mostly loads: two thousand files, seven thousand imports. A run starts some hundred such processes.

/** As bin/hand-over.mjs has it: what is stripped and compiled once is not stripped and compiled again. */
export const compileCache = { NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/quarterdeck') };

/** Nothing here is reached through a link, and to make sure of it at every import is a sixth of a start. */
export const quickFlags = ['--preserve-symlinks', '--preserve-symlinks-main'];
