import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { eventually } from '../../../../../test/harness/process.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { codeOf, pushBlob, registryServer, someBytes } from '../registry-server.ts';

const MiB = 1024 * 1024;

test('no upload grows beyond the quota, however its bytes are cut and whatever they are said to be', async (t) => {
  const { send, registry, allow, app } = await registryServer(t);
  allow('bob', { tiny: { registryId: await registry('tiny', 6 * MiB) } });
  const as = 'bob';
  const reserved = async () =>
    (await app.db.read(
      (tx) => row(tx, Type.Object({ reserved_bytes: Type.Integer() }))`select reserved_bytes from registry.registry where slug = 'tiny'`,
    ))!.reserved_bytes;
  const start = async () => (await send('POST', '/v2/tiny/app/blobs/uploads/', { as })).headers.location!;
  const bytes = someBytes(8 * MiB);
  async function* streamed(size: number) {
    for (let at = 0; at < size; at += MiB / 4) yield bytes.subarray(at, at + MiB / 4);
  }

  await t.test('small chunks count together', async () => {
    const location = await start();
    const room: number[] = [];
    for (let n = 0; n < 6; n++) {
      assert.equal((await send('PATCH', location, { as, body: bytes.subarray(n * MiB, (n + 1) * MiB) })).status, 202);
      room.push((await reserved()) / MiB);
    }
    assert.deepEqual(room, [1, 2, 3, 4, 5, 6]);
    const over = await send('PATCH', location, { as, body: bytes.subarray(0, 1000) });
    assert.deepEqual([over.status, codeOf(over)], [403, 'DENIED']);
    assert.deepEqual([(await send('GET', location, { as })).status, await reserved()], [404, 0], 'and all of it is thrown away');
  });

  await t.test('also chunks without a length', async () => {
    const location = await start();
    let status = 202;
    for (let n = 0; n < 12 && status === 202; n++) status = (await send('PATCH', location, { as, body: streamed(3 * (MiB / 4)) })).status;
    assert.equal(status, 403);
    assert.equal(await reserved(), 0);
  });

  await t.test('an upload deleted while its bytes arrive reserves nothing', async () => {
    const location = await start();
    async function* interrupted() {
      yield* streamed(2 * MiB);
      await eventually(async () => (await reserved()) > 2 * MiB);
      await app.db.write(async (tx) => {
        await run(tx)`delete from registry.upload`;
        await run(tx)`update registry.registry set reserved_bytes = 0`;
      });
      yield* streamed(4.5 * MiB);
    }
    const gone = await send('PATCH', location, { as, body: interrupted() });
    assert.deepEqual([gone.status, codeOf(gone)], [404, 'BLOB_UPLOAD_UNKNOWN']);
    assert.equal(await reserved(), 0);
  });

  await t.test('content that is held already is only hashed: no byte of it is on the disk, and more than it has is refused', async () => {
    const held = bytes.subarray(0, 4 * MiB);
    const digest = await pushBlob(send, 'tiny/app', held, { as });
    assert.equal((await send('PUT', `${await start()}?digest=${digest}`, { as, body: held })).status, 201);
    assert.equal((await send('PUT', `${await start()}?digest=${digest}`, { as, body: streamed(4 * MiB) })).status, 201);
    const slow = Promise.withResolvers<void>();
    async function* waiting() {
      yield held.subarray(0, 3 * MiB);
      await slow.promise;
      yield held.subarray(3 * MiB);
    }
    const many = await Promise.all([1, 2, 3, 4, 5].map(start));
    const pushes = many.map((location) => send('PUT', `${location}?digest=${digest}`, { as, body: waiting() }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const offsets = await Promise.all(many.map(async (location) => (await send('GET', location, { as })).headers.range));
    assert.deepEqual(offsets, Array(5).fill('0-0'));
    assert.ok((await reserved()) <= 5 * 65_536);
    slow.resolve();
    assert.deepEqual(
      (await Promise.all(pushes)).map((answer) => answer.status),
      Array(5).fill(201),
    );
    for (const body of [bytes, streamed(8 * MiB), bytes.subarray(0, 3 * MiB)]) {
      const location = await start();
      const junk = await send('PUT', `${location}?digest=${digest}`, { as, body }).catch(() => undefined); // cut off, perhaps
      if (junk) assert.deepEqual([junk.status, codeOf(junk)], [400, 'DIGEST_INVALID']);
      assert.deepEqual([(await send('GET', location, { as })).status, await reserved()], [404, 0]);
    }
  });

  await t.test('an upload without a byte has its share of what runs out, too', async () => {
    await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = used_bytes + ${2 * MiB} where slug = 'tiny'`);
    const many = await Promise.all(Array.from({ length: 8 }, start));
    assert.equal(await reserved(), 8 * 65_536);
    for (let i = 0; i < 200; i++) await start();
    assert.ok((await reserved()) < 2 * MiB, 'it leaves room for what comes');
    assert.equal((await send('DELETE', many[0]!, { as })).status, 204);
  });
});
