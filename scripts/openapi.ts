// Writes openapi/v1.json from the contract; `--check` only says whether the committed file is fresh.
import { readFile, writeFile } from 'node:fs/promises';
import { contract } from '../contract/index.ts';
import { openapi } from '../contract/openapi.ts';

const file = new URL('../openapi/v1.json', import.meta.url);
const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
const text = `${JSON.stringify(openapi(contract, version), null, 1)}\n`;

if (process.argv.includes('--check')) {
  if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error('openapi/v1.json is stale: run `npm run openapi` and commit it');
    process.exit(1);
  }
} else await writeFile(file, text);
