import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inspectMigrations, noteMigrations } from '../../scripts/migrations-ledger.ts';
import { areas } from '../../src/areas/index.ts';
import { readMigrations } from '../../src/kernel/migrate.ts';
import { migrationsOf } from '../../src/serve.ts';

const hasGit = spawnSync('git', ['--version']).status === 0;
const first = 'src/areas/shop/migrations/0001_shop.sql';
const second = 'src/areas/shop/migrations/0002_items.sql';

/** What can be done to a clone with one area. */
function shopIn(root: string) {
  const env = { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' };
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.example', ...args], { cwd: root, env });
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  let folder = 'src/areas/shop/migrations/';
  const sources = () => [{ schema: 'shop', folder: pathToFileURL(join(root, folder)) }];
  return {
    root,
    git,
    write,
    read: () => readFileSync(join(root, 'migrations.lock'), 'utf8'),
    move: (to: string) => {
      renameSync(join(root, folder), join(root, to));
      folder = to;
    },
    inspect: () => inspectMigrations(root, sources()),
    note: () => noteMigrations(root, sources()),
    commit: () => {
      git('add', '-A');
      git('commit', '-qm', 'a change');
    },
  };
}

const all = mkdtempSync(join(tmpdir(), 'qdl-'));
after(() => rmSync(all, { recursive: true, force: true }));
const origin = join(all, 'origin');

before(async () => {
  mkdirSync(origin);
  const { write, git, note, commit, inspect } = shopIn(origin);
  write(first, 'create table shop (id text);');
  write(second, 'create table item (id text);');
  if (hasGit) git('init', '-q', '--template=', '-b', 'main');
  assert.deepEqual(await note(), []);
  if (hasGit) commit();
  assert.deepEqual(await inspect(), { problems: [], unnoted: [], isOrdered: true });
});

let clones = 0;

/** One of the origin, whose migrations are noted and, where there is git, committed. */
function clone() {
  const root = join(all, `clone-${++clones}`);
  cpSync(origin, root, { recursive: true });
  return shopIn(root);
}

const found = async (inspecting: Promise<{ problems: string[] }>, ...sentences: RegExp[]) => {
  const { problems } = await inspecting;
  assert.equal(problems.length, sentences.length, problems.join('\n'));
  for (const [i, sentence] of sentences.entries()) assert.match(problems[i]!, sentence);
};

test('the ledger of this clone has what databases keep of each migration', async () => {
  const lines = readFileSync(new URL('../../migrations.lock', import.meta.url), 'utf8')
    .trim()
    .split('\n');
  const kept = readMigrations(migrationsOf(areas)).map(({ id, checksum }) => `${id} ${checksum}`);
  assert.ok(kept.length >= 10);
  assert.deepEqual(lines, kept.sort());
});

test('an edited migration is found, and not noted anew', async () => {
  const { write, inspect, note, read } = clone();
  const before = read();
  write(first, 'create table shop (id bigint);');
  await found(inspect(), /^shop\/0001_shop was edited after it was noted: put its text back and write another migration/);
  assert.match((await note())[0]!, /^shop\/0001_shop was edited/);
  assert.equal(read(), before);
});

test('a new migration that is not noted is found, and noting it adds one line in its place', async () => {
  const { write, inspect, note, read } = clone();
  const before = read();
  write('src/areas/shop/migrations/0003_price.sql', 'alter table item add price int;');
  const { problems, unnoted } = await inspect();
  assert.deepEqual([problems, unnoted.map(({ id }) => id)], [[], ['shop/0003_price']]);
  assert.deepEqual(await note(), []);
  assert.match(read().slice(before.length), /^shop\/0003_price [0-9a-f]{64}\n$/);
  assert.ok(read().startsWith(before));
  assert.deepEqual(await inspect(), { problems: [], unnoted: [], isOrdered: true });
});

test('a migration whose file is gone is found, and so is one that would never be applied', async () => {
  const { root, write, inspect } = clone();
  rmSync(join(root, second));
  write('src/areas/shop/migrations/3_short.sql', 'select 1;');
  write('src/areas/till/migrations/0001_till.sql', 'select 1;');
  await found(
    inspect(),
    /^src\/areas\/shop\/migrations\/3_short\.sql is never applied/,
    /^src\/areas\/till\/migrations\/0001_till\.sql is never applied/,
    /^shop\/0002_items is in migrations\.lock and its file is gone/,
  );
});

test('a folder may move: its migrations keep their ids', async () => {
  const { move, inspect } = clone();
  move('src/areas/shop/migrations-of-old/');
  assert.deepEqual(await inspect(), { problems: [], unnoted: [], isOrdered: true });
});

test('lines out of order, twice or torn by a merge are told apart', async () => {
  const { write, read, note, inspect } = clone();
  const ordered = read();
  const [one, two] = ordered.trim().split('\n');
  write('migrations.lock', `${two}\n${one}\n${one}\n`);
  assert.deepEqual(await inspect(), { problems: [], unnoted: [], isOrdered: false });
  await note();
  assert.equal(read(), ordered);
  write('migrations.lock', `<<<<<<< HEAD\n${ordered}`);
  await found(inspect(), /"<<<<<<< HEAD" is not "<id> <checksum>"/);
  write('migrations.lock', `${ordered}shop/0001_shop ${'0'.repeat(64)}\n`);
  await found(inspect(), /has shop\/0001_shop twice/);
});

test('what a commit had is held against, also when migration and ledger are changed together', { skip: !hasGit }, async () => {
  const { root, write, read, note, inspect, commit } = clone();
  const [one, two] = read().trim().split('\n') as [string, string];

  write('migrations.lock', `${one}\n`);
  rmSync(join(root, second));
  await found(inspect(), /^migrations\.lock lost the line of shop\/0002_items that a commit has: put it back, and write another migration/);
  commit();
  await found(inspect(), /lost the line of shop\/0002_items/);

  write(second, 'create table item (id bigint);');
  assert.match((await note())[0]!, /lost the line of shop\/0002_items/);
  assert.equal(read(), `${one}\n`, 'it cannot be noted with another text');
  write('migrations.lock', `${one}\nshop/0002_items ${'0'.repeat(64)}\n`);
  await found(inspect(), /^shop\/0002_items was edited/, /^migrations\.lock changed the line of shop\/0002_items/);

  rmSync(join(root, 'migrations.lock'));
  rmSync(join(root, second));
  commit();
  await found(inspect(), /lost the line of shop\/0001_shop/, /lost the line of shop\/0002_items/);

  write(second, 'create table item (id text);');
  write('migrations.lock', `${one}\n${two}\n`);
  await found(inspect());
});

test('nor does a merge that takes one side lose what the other had', { skip: !hasGit }, async () => {
  const { root, git, write, note, inspect, commit } = clone();
  const third = 'src/areas/shop/migrations/0003_price.sql';
  git('checkout', '-qb', 'aside');
  write(third, 'alter table item add price int;');
  await note();
  commit();
  git('checkout', '-q', 'main');
  write('README.md', 'meanwhile');
  commit();
  git('merge', '-q', '-s', 'ours', '--no-edit', 'aside');
  assert.throws(() => readFileSync(join(root, third)));
  await found(inspect(), /^migrations\.lock lost the line of shop\/0003_price that a commit has/);
});
