// `npm test`: installs what is missing, then runs the house rules and every test that needs npm alone.
// `npm test -- path…` runs just those files; `--clients`, `--faults` run the sets that need Debian packages or time.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { handOver } from '../bin/hand-over.mjs';
import { ensureInstalled } from './install.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const args = process.argv.slice(2);

await ensureInstalled({ dev: true });
if (!args.length) {
  const checks = spawn(process.execPath, [join(root, 'scripts/check.mjs')], { stdio: 'inherit', cwd: root });
  const code = await new Promise((resolve) => checks.once('exit', resolve));
  if (code !== 0) process.exit(code ?? 1);
}
handOver({ root, entry: 'test/run.ts', args });
