// migrations.lock: every migration that was ever committed, as databases keep it (`<id> <checksum>`), so that none is edited afterwards.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Migration, type Migrations, readMigrations } from '../src/kernel/migrate.ts';

const ledger = 'migrations.lock';
const mend = 'write another migration instead';

interface Findings {
  /** Sentences: what is wrong, then what to do. */
  problems: string[];
  /** Migrations that only have to be noted. */
  unnoted: Migration[];
  /** Each line once and in its place, where the line of another branch rarely meets it. */
  isOrdered: boolean;
}

/** Holds the migrations below `root` against its ledger, and the ledger against every version of it that git has. */
export async function inspectMigrations(root: string, sources: Migrations[]): Promise<Findings> {
  const migrations = readMigrations(sources);
  const text = currentLedger(root);
  const { noted, problems } = parseLedger(text);
  return {
    problems: [
      ...problems,
      ...strays(root, sources, migrations),
      ...migrations.flatMap((m) => changed(m, noted)),
      ...missing(noted, migrations),
      ...lost(noted, committedLines(root)),
    ],
    unnoted: migrations.filter(({ id }) => !noted.has(id)),
    isOrdered: text === written(linesOf(text)),
  };
}

/** Adds what is new and leaves every other line as it is; with anything wrong it adds nothing, and says what. */
export async function noteMigrations(root: string, sources: Migrations[]): Promise<string[]> {
  const { problems, unnoted } = await inspectMigrations(root, sources);
  if (problems.length) return problems;
  const lines = [...linesOf(currentLedger(root)), ...unnoted.map(({ id, checksum }) => `${id} ${checksum}`)];
  writeFileSync(join(root, ledger), written(lines));
  return [];
}

const linesOf = (text: string) => text.split('\n').filter(Boolean);
const written = (lines: string[]) => `${[...new Set(lines)].sort().join('\n')}\n`;
const currentLedger = (root: string) => (existsSync(join(root, ledger)) ? readFileSync(join(root, ledger), 'utf8') : '');

function parseLedger(text: string): { noted: Map<string, string>; problems: string[] } {
  const noted = new Map<string, string>();
  const problems: string[] = [];
  for (const line of linesOf(text)) {
    const [, id, checksum] = /^([a-z_]+\/\d{4}_[a-z0-9_]+) ([0-9a-f]{64})$/.exec(line) ?? [];
    if (!id) problems.push(`${ledger}: "${line}" is not "<id> <checksum>"; take it out and run \`npm run migrations\``);
    else if (noted.has(id) && noted.get(id) !== checksum) problems.push(`${ledger} has ${id} twice, with different checksums; ${mend}`);
    else noted.set(id, checksum!);
  }
  return { noted, problems };
}

function changed({ id, checksum }: Migration, noted: Map<string, string>): string[] {
  if (!noted.has(id) || noted.get(id) === checksum) return [];
  return [`${id} was edited after it was noted: put its text back and ${mend} (one never committed: delete its line in ${ledger})`];
}

const missing = (noted: Map<string, string>, migrations: Migration[]) =>
  [...noted.keys()]
    .filter((id) => !migrations.some((m) => m.id === id))
    .map((id) => `${id} is in ${ledger} and its file is gone: databases have it, so bring the file back`);

/** A file that no area's folder holds, or with another name than the migrator reads, would never be applied. */
function strays(root: string, sources: Migrations[], migrations: Migration[]): string[] {
  const applied = new Set(
    sources.flatMap(({ schema, folder }) =>
      migrations.filter((m) => m.schema === schema).map(({ id }) => fileURLToPath(new URL(`${id.slice(schema.length + 1)}.sql`, folder))),
    ),
  );
  return globSync('src/**/migrations/*.sql', { cwd: root })
    .filter((file) => !applied.has(join(root, file)))
    .sort()
    .map((file) => `${file} is never applied: name it like 0002_what_it_does.sql, in the folder that its area's index.ts names`);
}

/** A line of any earlier commit must still be there: databases that ran that commit have the migration. */
function lost(noted: Map<string, string>, committed: Set<string>): string[] {
  return [...committed].flatMap((line) => {
    const [id, checksum] = line.split(' ') as [string, string];
    if (noted.get(id) === checksum) return [];
    return [`${ledger} ${noted.has(id) ? 'changed' : 'lost'} the line of ${id} that a commit has: put it back, and ${mend}`];
  });
}

/** Every line of every version that HEAD reaches, also by branches whose side a merge did not take; none without git or a commit. */
function committedLines(root: string): Set<string> {
  if (!git(root, 'rev-parse', '--verify', '--quiet', 'HEAD')) return new Set();
  const commits = linesOf(git(root, 'log', '--full-history', '--format=%H', 'HEAD', '--', ledger) ?? '');
  const texts = commits.map((commit) => git(root, 'show', `${commit}:./${ledger}`) ?? ''); // '': the commit that deleted it
  return new Set(texts.flatMap((text) => [...parseLedger(text).noted].map(([id, checksum]) => `${id} ${checksum}`)));
}

function git(root: string, ...args: string[]): string | undefined {
  // A hook of git tells its children of another repository than the one at `root`.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
  try {
    return execFileSync('git', args, { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
}
