// Notes new migrations in migrations.lock. `--check` says whether all are noted, and none was edited or lost since.
import { fileURLToPath } from 'node:url';
import { areas } from '../src/areas/index.ts';
import { migrationsOf } from '../src/serve.ts';
import { inspectMigrations, noteMigrations } from './migrations-ledger.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = migrationsOf(areas);

async function check(): Promise<string[]> {
  const { problems, unnoted, isOrdered } = await inspectMigrations(root, sources);
  return [
    ...problems,
    ...unnoted.map(({ id }) => `${id} is not in migrations.lock: run \`npm run migrations\` and commit it`),
    ...(isOrdered ? [] : ['migrations.lock is not in order: run `npm run migrations` and commit it']),
  ];
}

const problems = process.argv.includes('--check') ? await check() : await noteMigrations(root, sources);
for (const p of problems) console.error(p);
process.exit(problems.length ? 1 : 0);
