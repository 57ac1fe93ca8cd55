// `node scripts/image.mjs <folder> <amd64|arm64> [<base>]`: see scripts/build/image.ts. It installs what running needs, and none of the tools.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { handOver } from '../bin/hand-over.mjs';
import { ensureInstalled } from './install.mjs';

await ensureInstalled({ dev: false });
handOver({
  root: join(dirname(fileURLToPath(import.meta.url)), '..'),
  entry: 'scripts/build.ts',
  args: ['image', ...process.argv.slice(2)],
});
