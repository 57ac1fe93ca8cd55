import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { fileStorage, StorageFull } from '../index.ts';
import { keysOf, sampleBytes, temporaryDirectory } from './storages.ts';

const MiB = 1024 * 1024;

test('a write that the system refuses in the middle of a body leaves nothing behind', async (t) => {
  const root = await temporaryDirectory(t);
  const script = path.join(import.meta.dirname, 'crowded-writer.ts');
  // 8192 blocks are 4 MiB to some shells and 8 MiB to others.
  const limited = ['-c', 'ulimit -f 8192 && exec "$0" "$@"', process.execPath, script, root];
  const { stdout } = await promisify(execFile)('sh', limited);
  assert.equal(stdout, 'kept its word\n');
});

for (const code of ['ENOSPC', 'EDQUOT']) {
  test(`${code} is a full storage, even after a short write`, async (t) => {
    const storage = await fileStorage(await temporaryDirectory(t));
    const id = await storage.createUpload();
    await storage.append(id, 0, Buffer.from('kept'));

    const probe = await fs.open(import.meta.filename, 'r');
    const handles = Object.getPrototypeOf(probe);
    await probe.close();
    const write = handles.write;
    let room = 1.25 * MiB;
    t.mock.method(handles, 'write', async function (this: fs.FileHandle, bytes: Buffer, from: number, length: number, at: number) {
      if (room === 0) throw Object.assign(new Error('no room'), { code });
      const short = Math.min(length, room);
      room -= short;
      return write.call(this, bytes, from, short, at);
    });

    await assert.rejects(storage.append(id, 4, sampleBytes(3 * MiB)), StorageFull);
    assert.equal(await storage.uploadOffset(id), 4);
    room = 1.25 * MiB;
    await assert.rejects(storage.put('key', sampleBytes(3 * MiB)), StorageFull);
    assert.deepEqual(await keysOf(storage), []);
    await storage.abort(id);
    assert.equal(await storage.sweep(new Date(8.64e15)), 0);
  });
}

test('a short write is continued, not taken for a whole one', async (t) => {
  const storage = await fileStorage(await temporaryDirectory(t));
  const probe = await fs.open(import.meta.filename, 'r');
  const handles = Object.getPrototypeOf(probe);
  await probe.close();
  const write = handles.write;
  t.mock.method(handles, 'write', function (this: fs.FileHandle, bytes: Buffer, from: number, length: number, at: number) {
    return write.call(this, bytes, from, Math.min(length, 300_007), at);
  });
  const bytes = sampleBytes(3 * MiB + 5);
  await storage.put('key', bytes);
  const object = await storage.open('key');
  assert.ok(bytes.equals(Buffer.concat(await object!.stream.toArray())));
});
