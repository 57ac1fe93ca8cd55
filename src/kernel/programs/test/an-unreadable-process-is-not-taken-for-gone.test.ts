import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRecord, writeRecord } from '../start.ts';

test('a record that is not there, or is torn, is none; one that cannot be read at the moment is not taken for gone', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qdr-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'a.record.json');
  assert.equal(await readRecord(path), undefined);
  await writeFile(path, '{"pid": 1');
  assert.equal(await readRecord(path), undefined);
  await writeRecord(path, { pid: 1 });
  assert.deepEqual(await readRecord(path), { pid: 1 });
  await rm(path);
  await mkdir(path);
  await assert.rejects(readRecord(path), { code: 'EISDIR' });
});
