import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { exitCodes, Stop } from '../../errors.ts';
import { keepPostgres } from '../index.ts';
import { keep, scratch } from './support.ts';

const refusedWith = (sentence: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Stop, String(error));
  assert.equal(error.exitCode, exitCodes.dataDirectory);
  assert.match(error.message, sentence);
  return true;
};

const plantings: [name: string, plant: (dataDir: string) => Promise<unknown>, sentence: RegExp][] = [
  [
    'a cluster of an older major under our name',
    async (dataDir) => {
      await mkdir(join(dataDir, 'postgres', '18'), { recursive: true });
      await writeFile(join(dataDir, 'postgres', '18', 'PG_VERSION'), '17\n');
    },
    /was written by PostgreSQL 17 and this Quarterdeck has 18; start the version that wrote it/,
  ],
  [
    'a cluster of a newer major beside ours',
    (dataDir) => mkdir(join(dataDir, 'postgres', '19'), { recursive: true }),
    /was written by a newer Quarterdeck \(PostgreSQL 19, this one has 18\); start that version instead/,
  ],
  [
    'only a cluster of an older major',
    (dataDir) => mkdir(join(dataDir, 'postgres', '17'), { recursive: true }),
    /holds PostgreSQL 17 and this Quarterdeck has 18; run `quarterdeck admin backup`/,
  ],
  [
    'a cluster of 18 that another program made',
    async (dataDir) => {
      await mkdir(join(dataDir, 'postgres', '18'), { recursive: true });
      await writeFile(join(dataDir, 'postgres', '18', 'PG_VERSION'), '18\n');
    },
    /holds something that is not Quarterdeck's database; move it away/,
  ],
  [
    'other files under our name',
    async (dataDir) => {
      await mkdir(join(dataDir, 'postgres', '18'), { recursive: true });
      await writeFile(join(dataDir, 'postgres', '18', 'notes.txt'), 'mine');
    },
    /holds something that is not Quarterdeck's database; move it away/,
  ],
  [
    "another server's data directory",
    async (dataDir) => {
      await mkdir(dataDir);
      await writeFile(join(dataDir, 'PG_VERSION'), '15\n');
    },
    /is itself the data directory of a PostgreSQL server; set QUARTERDECK_DATA/,
  ],
  [
    'a link in place of our directory',
    async (dataDir) => {
      await mkdir(dataDir);
      await symlink('/etc', join(dataDir, 'postgres'));
    },
    /data\/postgres is a link; set QUARTERDECK_DATA to the directory that really holds the data/,
  ],
  ['a file in place of the directory', (dataDir) => writeFile(dataDir, ''), /cannot be used: it is not a directory; set QUARTERDECK_DATA/],
];

for (const [name, plant, sentence] of plantings) {
  test(`refused with a sentence: ${name}`, async (t) => {
    const { dir, dataDir } = await scratch(t);
    await plant(dataDir);
    const before = await readdir(dir, { recursive: true });
    await assert.rejects(keepPostgres({ dataDir }), refusedWith(sentence));
    const added = (await readdir(dir, { recursive: true })).filter((path) => !before.includes(path) && path !== join('data', 'postgres'));
    assert.deepEqual(added, [], 'nothing of ours was written into it');
  });
}

test('refused with a sentence: a cluster that postgres itself cannot read', async (t) => {
  const { dataDir } = await scratch(t, { isMade: true });
  const control = join(dataDir, 'postgres', '18', 'global', 'pg_control');
  if (!existsSync(control)) await (await keep(t, dataDir)).stop(); // where this file is run alone
  await rm(control);
  await assert.rejects(keepPostgres({ dataDir }), refusedWith(/PostgreSQL did not start on .*; more is in .*\/postgres\/log$/));
});
