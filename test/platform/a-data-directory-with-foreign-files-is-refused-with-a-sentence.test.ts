import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { exitCodes, Stop } from '../../src/kernel/errors.ts';
import { quarterdeck } from '../harness/index.ts';

const stops = (sentence: RegExp) => (error: unknown) =>
  error instanceof Stop && error.exitCode === exitCodes.dataDirectory && sentence.test(error.message);

test('a data directory with foreign files is refused with a sentence, and nothing is put into it', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'qdd-'));
  t.after(() => rm(dataDir, { recursive: true }));
  for (const name of ['photo.jpg', 'letters', 'taxes', 'todo']) await writeFile(join(dataDir, name), '');
  await assert.rejects(
    quarterdeck(t, { dataDir }),
    stops(/holds what is not Quarterdeck’s \(letters, photo\.jpg, taxes and 1 more\); set QUARTERDECK_DATA/),
  );
  assert.equal((await readdir(dataDir)).length, 4);
});

test('files that a file system or the operator puts there are no obstacle', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'qdd-'));
  await mkdir(join(dataDir, 'lost+found'));
  for (const name of ['.gitkeep', 'quarterdeck.toml', 'tls.pem']) await writeFile(join(dataDir, name), '');
  const { owner } = await quarterdeck(t, { dataDir });
  assert.equal((await owner.get('/me')).status, 200);
});

test('a file where a directory belongs is named in one sentence', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'qdd-'));
  t.after(() => rm(dataDir, { recursive: true }));
  await writeFile(join(dataDir, 'blobs'), 'not a directory');
  await assert.rejects(
    quarterdeck(t, { dataDir }),
    stops(/blobs cannot be used: it is not a directory; if it is not Quarterdeck’s, move it away/),
  );
});
