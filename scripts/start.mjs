// `npm start` and `npm run dev`: installs what running needs if it is missing, then hands over to Node 26.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { handOver, superviseEntry } from '../bin/hand-over.mjs';
import { ensureInstalled } from './install.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const [first, ...rest] = process.argv.slice(2);
// Messages of the server show commands of this clone.
const typed = join(root, 'quarterdeck');
const watch = first === '--watch';

await ensureInstalled({ dev: false });
// `node --watch` is a parent of its own.
if (!watch) await superviseEntry({ root, args: process.argv.slice(2), typed });
handOver({
  root,
  entry: 'src/main.ts',
  args: rest,
  typed,
  // Whole directories, so that a new file and a migration count too, not only what is imported already.
  nodeFlags: ['--watch', '--watch-preserve-output', ...['src', 'contract'].map((dir) => `--watch-path=${join(root, dir)}`)],
});
