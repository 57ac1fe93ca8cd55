import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { fakeS3 } from '../../../../test/fakes/s3.ts';
import { opened, sampleBytes, storages } from './storages.ts';

for (const { name, prepare } of storages) {
  suite(name, () => {
    test('a client with the presigned URL reads the object, with the content type we set', async (t) => {
      const storage = await (await prepare(t)).open();
      const bytes = sampleBytes(100_000);
      await storage.put('sha256/ab/abc', bytes);
      const answer = { contentType: 'application/octet-stream', contentDisposition: 'attachment; filename="the layer (1)*.tar"' };
      const address = await storage.presign('sha256/ab/abc', 60, answer);
      if (name === 'files') return assert.equal(address, undefined);

      const response = await fetch(address!);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), answer.contentType);
      assert.equal(response.headers.get('content-disposition'), answer.contentDisposition);
      assert.ok(bytes.equals(Buffer.from(await response.arrayBuffer())));
      const part = await fetch(address!, { headers: { range: 'bytes=10-19' } });
      assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(10, 20));

      await storage.put('sha256/ab/abd', bytes);
      assert.equal((await fetch(address!.replace('ab/abc', 'ab/abd'))).status, 403);
      assert.equal((await fetch(address!.replace('octet-stream', 'html'))).status, 403);
      assert.equal((await fetch(address!, { method: 'DELETE' })).status, 403);
    });
  });
}

test('after its time the address opens nothing', async (t) => {
  const fake = await fakeS3();
  t.after(() => fake.stop());
  const storage = opened(t, fake);
  await storage.put('key', Buffer.from('x'));
  const address = await storage.presign('key', 60);
  fake.aheadMs = 58_000;
  assert.equal((await fetch(address!)).status, 200);
  fake.aheadMs = 61_000;
  assert.equal((await fetch(address!)).status, 403);
});
