// `npm test`: installs what is missing, then runs every test that needs npm alone, and the house rules beside them.
// `npm test -- path…` runs just those files; `--clients`, `--faults` run the sets that need Debian packages or time.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { handOver } from '../bin/hand-over.mjs';
import { ensureInstalled } from './install.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const args = process.argv.slice(2);

await ensureInstalled({ dev: true });
handOver({ root, entry: 'test/run.ts', args: args.length ? args : ['--check'] });
