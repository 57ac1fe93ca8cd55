// Writes openapi/v1.json from the contract. `--check` says whether it is fresh, and whether what is served still keeps the
// promises of openapi/served.json; `--promise` makes today's served operations the new promise (at a release).
import { readFile, writeFile } from 'node:fs/promises';
import { breakingChanges } from '../contract/compatible.ts';
import { markGrowing } from '../contract/growing.ts';
import { contract } from '../contract/index.ts';
import { openapi } from '../contract/openapi.ts';
import { areas } from '../src/areas/index.ts';

const whole = new URL('../openapi/v1.json', import.meta.url);
const promised = new URL('../openapi/served.json', import.meta.url);
const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
const text = (ops: typeof contract) => `${JSON.stringify(openapi(ops, version), null, 1)}\n`;
const served = areas.flatMap((a) => a.operations.map((o) => o.spec));

if (process.argv.includes('--check')) {
  const problems = breakingChanges(markGrowing(JSON.parse(await readFile(promised, 'utf8'))), markGrowing(JSON.parse(text(served)))).map(
    (change) => `a breaking change to a served operation: ${change}`,
  );
  if ((await readFile(whole, 'utf8').catch(() => '')) !== text(contract))
    problems.push('openapi/v1.json is stale: run `npm run openapi` and commit it');
  for (const p of problems) console.error(p);
  if (problems.length) process.exit(1);
} else {
  await writeFile(whole, text(contract));
  if (process.argv.includes('--promise')) await writeFile(promised, text(served));
}
