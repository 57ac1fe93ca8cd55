import assert from 'node:assert/strict';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeFrom } from '../disk.ts';

test('when writing back fails while a body arrives, nothing of the file is relied on', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'qds-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await using file = await open(join(folder, 'upload'), 'w+');
  const MiB = 1024 * 1024;
  await file.write(Buffer.alloc(MiB, 'a'));
  const body = async function* () {
    for (let n = 0; n < 20; n++) yield Buffer.alloc(MiB, 'b');
  };
  const bad = t.mock.method(file, 'datasync', () => Promise.reject(Object.assign(new Error('the disk says no'), { code: 'EIO' })));
  await assert.rejects(writeFrom(file, MiB, body(), 'keep'), { code: 'EIO' });
  assert.ok(bad.mock.callCount() >= 1);
  assert.equal((await file.stat()).size, 0, 'also what an earlier request brought');

  bad.mock.restore();
  assert.equal(await writeFrom(file, 0, body(), 'keep'), 20 * MiB, 'it starts over');
  assert.equal((await file.stat()).size, 20 * MiB);
});
