import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileStorage, StorageUnavailable, UploadUnknown } from '../index.ts';
import { keysOf, temporaryDirectory } from './storages.ts';

/** kill -9 cannot show whether data was synced, a power cut would; so the order of the calls is tested. */
async function recorded(t: TestContext) {
  const root = await temporaryDirectory(t);
  const storage = await fileStorage(root);
  const calls: string[] = [];
  const paths = new WeakMap<object, string>();
  const nameOf = (file: string) => path.relative(root, file).replace(/^\.uploads\/.+/, 'staged') || '.';

  const open = fs.open;
  t.mock.method(fs, 'open', async (...args: Parameters<typeof open>) => {
    const handle = await open(...args);
    paths.set(handle, nameOf(String(args[0])));
    return handle;
  });
  const rename = fs.rename;
  t.mock.method(fs, 'rename', async (from: string, to: string) => {
    await rename(from, to);
    calls.push(`rename ${nameOf(from)} to ${nameOf(to)}`);
  });
  const probe = await open(root, 'r');
  const handles = Object.getPrototypeOf(probe);
  await probe.close();
  for (const method of ['sync', 'datasync', 'write'] as const) {
    const original = handles[method];
    t.mock.method(handles, method, async function (this: object, ...args: unknown[]) {
      const result = await original.apply(this, args);
      calls.push(`${method} ${paths.get(this)}`);
      return result;
    });
  }
  return { storage, calls, handles };
}

test('the file is synced, then renamed, then its directory is synced; a new directory is synced into its parent first', async (t) => {
  const { storage, calls } = await recorded(t);
  const placed = (key: string) => [`rename staged to ${key}`, `sync ${path.dirname(key)}`];

  const first = await storage.createUpload();
  await storage.append(first, 0, Buffer.from('x'));
  await storage.commit(first, 'sha256/ab/abc');
  assert.deepEqual(calls.splice(0), ['write staged', 'datasync staged', 'sync .', 'sync sha256', ...placed('sha256/ab/abc')]);

  const second = await storage.createUpload();
  await storage.append(second, 0, Buffer.from('x'));
  await storage.append(second, 1, Buffer.from('y'));
  await storage.commit(second, 'sha256/ab/abd');
  assert.deepEqual(calls.splice(0), ['write staged', 'write staged', 'datasync staged', ...placed('sha256/ab/abd')]);

  await storage.put('sha256/cd/cde', Buffer.from('x'));
  assert.deepEqual(calls.splice(0), ['write staged', 'datasync staged', 'sync sha256', ...placed('sha256/cd/cde')]);
});

test('an upload that could not be synced is lost: a second try would sync nothing and call it a success', async (t) => {
  const { storage, handles } = await recorded(t);
  const id = await storage.createUpload();
  await storage.append(id, 0, Buffer.from('x'));
  t.mock.method(handles, 'datasync', async () => {
    throw Object.assign(new Error('i/o error'), { code: 'EIO' });
  });
  await assert.rejects(storage.commit(id, 'key'), StorageUnavailable);
  await assert.rejects(storage.put('other', Buffer.from('x')), StorageUnavailable);
  await assert.rejects(storage.commit(id, 'key'), UploadUnknown);
  assert.deepEqual(await keysOf(storage), []);
  assert.equal(await storage.sweep(new Date(8.64e15)), 0);
});
