// `npm start` and `npm run dev`: installs what running needs if it is missing, then hands over to Node 26.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { handOver } from '../bin/hand-over.mjs';
import { ensureInstalled } from './install.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const [first, ...rest] = process.argv.slice(2);
const watch = first === '--watch';

await ensureInstalled({ dev: false });
handOver({
  root,
  entry: 'src/main.ts',
  args: watch ? rest : process.argv.slice(2),
  // Whole directories, so that a new file and a migration count too, not only what is imported already.
  nodeFlags: watch ? ['--watch', '--watch-preserve-output', ...['src', 'contract'].map((dir) => `--watch-path=${join(root, dir)}`)] : [],
});
