// `npm run bench -- <area>`: measures what an area promises and says whether it holds. Exit code 1 when something does not.
import { readdirSync } from 'node:fs';

const areas = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -3))
  .sort();
const area = process.argv[2];

if (!area || !areas.includes(area)) {
  console.error(`${area ? `there is no bench "${area}"` : 'which one?'}; npm run bench -- ${areas.join(' | ')}`);
  process.exit(2);
}
await import(`./${area}.ts`);
