import assert from 'node:assert/strict';
import { cp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Stop } from '../../kernel/errors.ts';
import { fileStorage } from '../../kernel/storage/index.ts';
import { checksumOf, type Manifest } from '../backup/manifest.ts';
import { prepare, restore } from '../restore/restore.ts';
import { backedUp, fewAreas, fewMigrations } from './backups.ts';
import { adminHere, emptyDatabase, sqlOn } from './support.ts';

const flip = async (file: string, at: number) => {
  const bytes = await readFile(file);
  bytes[at < 0 ? bytes.length + at : at]! ^= 0x01;
  await writeFile(file, bytes);
};

/** A manifest that says something else, with a checksum that agrees. */
const rewrite = (change: (manifest: Manifest) => unknown) => async (directory: string) => {
  const manifest = JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8'));
  change(manifest);
  const text = JSON.stringify(manifest);
  await writeFile(join(directory, 'manifest.json'), text);
  await writeFile(join(directory, 'manifest.sha256'), checksumOf(text));
};

const damages: [what: string, damage: (directory: string) => Promise<unknown>, sentence: RegExp, code: number][] = [
  ['a flipped bit in a table', (d) => flip(join(d, 'tables/identity.org.copy'), 10), /identity\.org\.copy has another content/, 12],
  [
    'a flipped bit at the end of a table',
    (d) => flip(join(d, 'tables/kernel.audit.copy'), -2),
    /kernel\.audit\.copy has another content/,
    12,
  ],
  ['a missing table', (d) => rm(join(d, 'tables/identity.token.copy')), /tables\/identity\.token\.copy is missing/, 12],
  ['a table cut short', (d) => truncate(join(d, 'tables/kernel.audit.copy'), 20), /kernel\.audit\.copy has 20 bytes instead of/, 12],
  ['a flipped bit in the key', (d) => flip(join(d, 'secret.key'), 20), /secret\.key has another content/, 12],
  ['a missing key', (d) => rm(join(d, 'secret.key')), /secret\.key is missing/, 12],
  ['a missing list of objects', (d) => rm(join(d, 'blobs.txt')), /blobs\.txt is missing/, 12],
  ['a missing object', (d) => rm(join(d, 'blobs/a/b')), /blobs\/a\/b is missing/, 12],
  ['a flipped bit in an object', (d) => flip(join(d, 'blobs/a/b'), 0), /blobs\/a\/b has another content/, 12],
  ['a flipped bit in the manifest', (d) => flip(join(d, 'manifest.json'), 300), /manifest\.json is not what manifest\.sha256 says/, 12],
  ['a manifest cut short', (d) => truncate(join(d, 'manifest.json'), 100), /manifest\.json is not what manifest\.sha256 says/, 12],
  ['no checksum of the manifest', (d) => rm(join(d, 'manifest.sha256')), /manifest\.json is not what manifest\.sha256 says/, 12],
  ['no manifest', (d) => rm(join(d, 'manifest.json')), /is not a backup: it has no manifest\.json/, 12],
  ['a later format', rewrite((m) => Object.assign(m, { format: 2 })), /has format 2, and this release knows 1/, 12],
  ['another product', rewrite((m) => Object.assign(m, { product: 'other' })), /is not one that .* writes/, 12],
  ['a table name that is SQL', rewrite((m) => (m.tables[0]!.name = 'a"; drop')), /is not one that .* writes/, 12],
  [
    'a partition bound that is SQL',
    rewrite((m) => m.tables[0]!.partitions.push({ name: 'p', bound: 'DEFAULT; drop table x' })),
    /is not one that .* writes/,
    12,
  ],
  [
    'a newer release',
    rewrite((m) => m.migrations.push({ id: 'kernel/9999_later', checksum: 'a'.repeat(64) })),
    /made by a newer release .*9999_later/,
    7,
  ],
  ['another edition', rewrite((m) => (m.migrations[0]!.checksum = 'a'.repeat(64))), /migration kernel\/0001_kernel has another text/, 7],
];

test('a damaged backup is refused before anything is touched', async (t) => {
  const { directory, target } = await backedUp(t);
  const migrations = fewMigrations();
  for (const [what, damage, sentence, code] of damages) {
    await t.test(what, async () => {
      const copy = join(directory, 'copy');
      await cp(target, copy, { recursive: true });
      await damage(copy);
      const refused = await prepare(copy, join(directory, 'new'), migrations).catch((error) => error);
      assert.ok(refused instanceof Stop, String(refused));
      assert.match(refused.message, sentence);
      assert.equal(refused.exitCode, code);
      await rm(copy, { recursive: true });
    });
  }
});

test('the command says so in one sentence and makes no database', async (t) => {
  const { directory, target } = await backedUp(t);
  await flip(join(target, 'tables/identity.org.copy'), 10);
  const dataDir = join(directory, 'new');
  const { code, out, err } = await adminHere(['restore', target], { QUARTERDECK_DATA: dataDir });
  assert.deepEqual([code, out], [12, '']);
  assert.match(
    err,
    /^quarterdeck: the backup in .* is damaged: tables\/identity\.org\.copy has another content than when it was written; use another one\n$/,
  );
  await assert.rejects(readFile(dataDir), /ENOENT/);
});

test('rows that do not come to the promised number are not kept', async (t) => {
  const { directory, target } = await backedUp(t);
  await rewrite((m) => (m.tables.find((table) => table.name === 'org')!.rows = 2))(target);
  const database = await emptyDatabase(t);
  const migrations = fewMigrations();
  const dataDir = join(directory, 'new');
  const storage = await fileStorage(join(dataDir, 'blobs'));
  const attempt = restore(await prepare(target, dataDir, migrations, { unauthenticated: true }), {
    database,
    storage,
    dataDir,
    areas: fewAreas,
    migrations,
  });
  await assert.rejects(attempt, /identity\.org came to 1 rows instead of 2/);
  assert.deepEqual(await sqlOn(database.connection, 'select count(*) as count from identity.org'), [{ count: 0 }]);
});
