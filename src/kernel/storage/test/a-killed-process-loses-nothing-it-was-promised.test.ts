import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { quickFlags } from '../../../../test/harness/quick-start.ts';
import { fileStorage, UploadUnknown } from '../index.ts';
import { blobKey, readAll, sampleBytes, sha256, temporaryDirectory } from './storages.ts';

interface Promised {
  object: number;
  key?: string;
  id?: string;
  at?: number;
}

const contentOf = (object: number) => sampleBytes(2_500_000 + object, object);

test('kill -9 at any moment: every finished object is whole, nothing else is visible, every upload goes on', async (t) => {
  const root = await temporaryDirectory(t);
  const promised: Promised[] = [];
  // In the middle of an append, a commit, a put, and an append beside finished objects.
  for (const [round, lines] of [1, 3, 4, 6].entries()) promised.push(...(await killedAfter(lines, root, 100 * round + 1)));

  const storage = await fileStorage(root);
  for await (const { key } of storage.list('')) assert.equal(blobKey(sha256((await readAll(storage, key))!)), key);

  const keys = promised.flatMap(({ key }) => key ?? []);
  for (const key of keys) assert.ok(await storage.stat(key), `${key} was promised`);

  let resumed = 0;
  for (const [id, { object, at }] of new Map(promised.flatMap((line) => (line.id ? [[line.id, line]] : [])))) {
    const bytes = contentOf(object);
    const key = blobKey(sha256(bytes));
    const offset = await storage.uploadOffset(id).catch((error) => {
      assert.ok(error instanceof UploadUnknown);
    });
    if (offset === undefined) {
      assert.ok(await storage.stat(key), 'an upload that is gone was committed');
      continue;
    }
    assert.ok(offset >= at!, `${at} bytes were promised, ${offset} are there`);
    await storage.append(id, offset, bytes.subarray(offset));
    await storage.commit(id, key, { digest: sha256(bytes) });
    resumed++;
  }
  assert.ok(resumed > 0 && keys.length > 0, 'some writers were killed in the middle of an upload, and some finished objects before');

  await storage.sweep(new Date(8.64e15));
  for (const key of keys) assert.ok(await storage.stat(key), 'a sweep takes no object');
});

/** Kills a writer once it has printed this many lines: it is then in the middle of the next step. */
async function killedAfter(count: number, root: string, seed: number): Promise<Promised[]> {
  const script = path.join(import.meta.dirname, 'killed-writer.ts');
  const writer = spawn(process.execPath, [...quickFlags, script, root, String(seed)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const said: Promised[] = [];
  const closed = once(writer, 'close');
  for await (const line of createInterface(writer.stdout)) {
    said.push(JSON.parse(line));
    if (said.length === count) writer.kill('SIGKILL');
  }
  const [code, signal] = await closed;
  assert.deepEqual({ code, signal }, { code: null, signal: 'SIGKILL' });
  return said;
}
