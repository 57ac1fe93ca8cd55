// `node scripts/run.mjs scripts/openapi.ts …`: one of our TypeScript scripts, on Node 26.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { handOver } from '../bin/hand-over.mjs';
import { ensureInstalled } from './install.mjs';

const [entry, ...args] = process.argv.slice(2);
await ensureInstalled({ dev: true });
handOver({ root: join(dirname(fileURLToPath(import.meta.url)), '..'), entry, args });
