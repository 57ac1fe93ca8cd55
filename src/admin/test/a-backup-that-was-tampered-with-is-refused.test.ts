import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { authenticate, newKey } from '../../kernel/secrets.ts';
import { hashFile } from '../backup/files.ts';
import { checksumOf, type Manifest } from '../backup/manifest.ts';
import { prepare } from '../restore/restore.ts';
import { backedUp, fewMigrations } from './backups.ts';

const stops = (code: number, sentence: RegExp) => (error: unknown) =>
  error instanceof Stop && error.exitCode === code && sentence.test(error.message);

test('a backup that somebody changed, with checksums that agree, is refused', async (t) => {
  const { dataDir, target } = await backedUp(t, { withKey: false });
  const migrations = fewMigrations();
  await prepare(target, dataDir, migrations);

  const table = join(target, 'tables/identity.org.copy');
  await writeFile(table, (await readFile(table, 'utf8')).replace('Default', 'Mallory'));
  const manifest: Manifest = JSON.parse(await readFile(join(target, 'manifest.json'), 'utf8'));
  Object.assign(manifest.tables.find(({ name }) => name === 'org')!, await hashFile(table));
  const text = JSON.stringify(manifest);
  await writeFile(join(target, 'manifest.json'), text);
  await writeFile(join(target, 'manifest.sha256'), checksumOf(text));
  await assert.rejects(prepare(target, dataDir, migrations), stops(exitCodes.backup, /was changed after it was made/));

  const mark = join(target, 'manifest.hmac');
  await writeFile(mark, `${authenticate({ keys: [newKey()] }, text, 'quarterdeck backup manifest')}\n`);
  await assert.rejects(
    prepare(target, dataDir, migrations),
    stops(exitCodes.secretKey, /made with a key that secret\.key no longer holds/),
  );

  await writeFile(mark, 'no mark at all\n');
  await assert.rejects(prepare(target, dataDir, migrations), stops(exitCodes.backup, /was changed after it was made/));

  await rm(mark);
  await assert.rejects(prepare(target, dataDir, migrations), stops(exitCodes.backup, /it has no manifest\.hmac; if you trust it/));
  await prepare(target, dataDir, migrations, { unauthenticated: true });
});
