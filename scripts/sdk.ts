// Writes sdk/generated from openapi/v1.json, for the operations that are served; `--check` only says whether the committed files are fresh.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { columns } from '../contract/columns.ts';
import { markGrowing } from '../contract/growing.ts';
import { next } from '../contract/next-commands.ts';
import { creations, losses, waits, watches } from '../contract/outcomes.ts';
import { fieldThings, pathThings, things } from '../contract/things.ts';
import { generate } from '../sdk/generate/index.ts';
import { areas } from '../src/areas/index.ts';

const folder = new URL('../sdk/generated/', import.meta.url);
const document = markGrowing(JSON.parse(await readFile(new URL('../openapi/v1.json', import.meta.url), 'utf8')));
const served = areas.flatMap((area) => area.operations.map((o) => o.spec));
const files = generate(document, {
  only: new Set(served.map((spec) => spec.id)),
  secrets: new Set(served.filter((spec) => spec.secret).map((spec) => spec.id)),
  columns,
  next,
  things: { things, creations, losses, watches, waits, pathThings, fieldThings },
});

const stale: string[] = [];
for (const [name, text] of Object.entries(files)) {
  if ((await readFile(new URL(name, folder), 'utf8').catch(() => '')) !== text) stale.push(name);
}
if (!process.argv.includes('--check')) {
  await mkdir(folder, { recursive: true });
  for (const name of stale) await writeFile(new URL(name, folder), files[name]!);
} else if (stale.length) {
  console.error(`sdk/generated is stale (${stale.join(', ')}): run \`npm run sdk\` and commit it`);
  process.exit(1);
}
