import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { DigestMismatch, OffsetMismatch, type Storage, UploadBusy, UploadUnknown } from '../index.ts';
import { blobKey, cutOffAfter, inPieces, keysOf, MiB, readAll, sampleBytes, sha256, storages } from './storages.ts';

for (const { name, part, prepare } of storages) {
  const eighth = part / 8;
  suite(name, { concurrency: true }, () => {
    /** Appends pieces by either of two processes, commits them and reads the object. */
    const uploadInPieces = async (processes: Storage[], pieces: { size: number; by: number }[], isChecked: boolean) => {
      const bytes = sampleBytes(pieces.reduce((sum, { size }) => sum + size, 0));
      const digest = sha256(bytes);
      const id = await processes[0]!.createUpload();
      let at = 0;
      for (const { size, by } of pieces) {
        assert.equal(await processes[by]!.append(id, at, inPieces(bytes.subarray(at, at + size), 65_521)), at + size);
        at += size;
        assert.equal(await processes[1 - by]!.uploadOffset(id), at);
      }
      assert.deepEqual(await processes[1]!.commit(id, blobKey(digest), isChecked ? { digest } : {}), { size: bytes.length });
      assert.ok(bytes.equals((await readAll(processes[0]!, blobKey(digest)))!));
    };

    test('however the bytes are cut, and whichever process takes each piece, the object is all of them', async (t) => {
      const { open } = await prepare(t);
      const processes = [await open(), await open()];
      const piece = fc.record({ size: fc.oneof(fc.constantFrom(0, 1, part), fc.nat(20_000), fc.nat(9 * eighth)), by: fc.nat(1) });
      const law = fc.asyncProperty(fc.array(piece, { maxLength: 6 }), fc.boolean(), (pieces, isChecked) =>
        uploadInPieces(processes, pieces, isChecked),
      );
      await fc.assert(law, { numRuns: 6, examples: [[[], true]] });
    });

    test('so it is with parts as large as they are in use', async (t) => {
      const { open } = await prepare(t, { isInEarnest: true });
      const pieces = [
        { size: 17 * MiB, by: 1 },
        { size: 5, by: 0 },
      ];
      await uploadInPieces([await open(), await open()], pieces, true);
    });

    test('many small chunks make one object', async (t) => {
      const storage = await (await prepare(t)).open();
      const bytes = sampleBytes(20 * 1000);
      const id = await storage.createUpload();
      for (let at = 0; at < bytes.length; at += 1000) await storage.append(id, at, bytes.subarray(at, at + 1000));
      await storage.commit(id, 'small', { digest: sha256(bytes) });
      assert.ok(bytes.equals((await readAll(storage, 'small'))!));
    });

    test('what a sender managed to send before it went away is kept', async (t) => {
      const { open } = await prepare(t);
      const bytes = sampleBytes(13 * eighth);
      const before = await open();
      const id = await before.createUpload();
      await before.append(id, 0, bytes.subarray(0, 1000));
      await assert.rejects(before.append(id, 1000, cutOffAfter(bytes.subarray(1000, 10 * eighth + 7))), /the sender went away/);

      const after = await open();
      const offset = await after.uploadOffset(id);
      assert.equal(offset, 10 * eighth + 7);
      await after.append(id, offset, bytes.subarray(offset));
      await after.commit(id, 'resumed', { digest: sha256(bytes) });
      assert.ok(bytes.equals((await readAll(after, 'resumed'))!));
    });

    test('bytes for another place are refused with the place to go on from', async (t) => {
      const storage = await (await prepare(t)).open();
      const id = await storage.createUpload();
      await storage.append(id, 0, Buffer.from('0123'));
      for (const offset of [0, 3, 5]) {
        await assert.rejects(
          storage.append(id, offset, Buffer.from('x')),
          (error) => error instanceof OffsetMismatch && error.offset === 4,
        );
      }
      assert.equal(await storage.uploadOffset(id), 4);
    });

    test('an upload is invisible until it is committed, and gone once it is committed or cancelled', async (t) => {
      const storage = await (await prepare(t)).open();
      const [committed, cancelled] = [await storage.createUpload(), await storage.createUpload()];
      for (const id of [committed, cancelled]) await storage.append(id, 0, sampleBytes(9 * eighth));
      assert.deepEqual(await keysOf(storage), []);

      await storage.commit(committed, 'key');
      await storage.abort(cancelled);
      await storage.abort(cancelled);
      for (const id of [committed, cancelled, randomUUID(), '', '..', '../key', 'key']) await unknown(storage, id);
      assert.deepEqual(await keysOf(storage), ['key']);
      assert.equal(await storage.sweep(new Date(8.64e15)), 0, 'nothing is left to sweep');
    });

    test('a wrong digest leaves no object, and the upload for another try', async (t) => {
      const storage = await (await prepare(t)).open();
      const bytes = sampleBytes(9 * eighth);
      const id = await storage.createUpload();
      await storage.append(id, 0, bytes);
      await assert.rejects(storage.commit(id, 'key', { digest: sha256(Buffer.from('else')) }), DigestMismatch);
      await assert.rejects(storage.commit(id, 'key', { digest: '' }), { status: 400 });
      assert.equal(await storage.stat('key'), undefined);
      await storage.commit(id, 'key', { digest: sha256(bytes) });
      assert.equal((await storage.stat('key'))?.size, bytes.length);
    });

    test('what grew after its bytes were counted is not committed', async (t) => {
      const storage = await (await prepare(t)).open();
      for (const bytes of [Buffer.from('counted'), sampleBytes(9 * eighth)]) {
        const all = Buffer.concat([bytes, Buffer.from(' and more')]);
        const id = await storage.createUpload();
        const size = await storage.append(id, 0, bytes);
        await storage.append(id, size, all.subarray(size));
        await assert.rejects(storage.commit(id, 'key', { size }), UploadBusy);
        await assert.rejects(storage.commit(id, 'key', { size, digest: sha256(all) }), UploadBusy);
        await assert.rejects(storage.commit(id, 'key', { size: all.length + 1 }), UploadBusy);
        assert.equal(await storage.stat('key'), undefined);
        assert.deepEqual(await storage.commit(id, 'key', { size: all.length }), { size: all.length });
        assert.ok(all.equals((await readAll(storage, 'key'))!));
        await storage.remove('key');
      }
    });

    test('commits of one key at the same time all succeed', async (t) => {
      const { open } = await prepare(t);
      const processes = [await open(), await open()];
      const bytes = sampleBytes(9 * eighth);
      const key = blobKey(sha256(bytes));
      const ids = await Promise.all([0, 1, 2, 3].map((n) => processes[n % 2]!.createUpload()));
      await Promise.all(ids.map((id, n) => processes[n % 2]!.append(id, 0, bytes)));
      await Promise.all([...ids.map((id, n) => processes[n % 2]!.commit(id, key)), processes[0]!.put(key, bytes)]);
      assert.ok(bytes.equals((await readAll(processes[0]!, key))!));
      assert.deepEqual(await keysOf(processes[0]!), [key]);
    });

    test('a second request on an upload in use is refused, and the first one goes on', async (t) => {
      const storage = await (await prepare(t)).open();
      const id = await storage.createUpload();
      const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const first = storage.append(
        id,
        0,
        (async function* () {
          yield Buffer.from('slow ');
          begin();
          await gate;
          yield Buffer.from('sender');
        })(),
      );
      await begun;
      await assert.rejects(storage.append(id, 0, Buffer.from('early')), UploadBusy);
      await assert.rejects(storage.commit(id, 'key'), UploadBusy);
      await assert.rejects(storage.abort(id), UploadBusy);
      letGo();
      assert.equal(await first, 11);
      await storage.commit(id, 'key');
      assert.equal(String(await readAll(storage, 'key')), 'slow sender');
    });

    test('a sweep removes leftovers untouched since, and only those', async (t) => {
      const storage = await (await prepare(t)).open();
      await storage.put('object', Buffer.from('x'));
      const id = await storage.createUpload();
      await storage.append(id, 0, sampleBytes(9 * eighth));
      const { modifiedAt } = (await storage.stat('object'))!;

      assert.equal(await storage.sweep(new Date(modifiedAt.getTime() - 3_600_000)), 0);
      assert.equal(await storage.uploadOffset(id), 9 * eighth);
      assert.equal(await storage.sweep(new Date(modifiedAt.getTime() + 3_600_000)), 1);
      await unknown(storage, id);
      assert.equal(String(await readAll(storage, 'object')), 'x');
    });
  });
}

async function unknown(storage: Storage, id: string): Promise<void> {
  await assert.rejects(storage.uploadOffset(id), UploadUnknown);
  await assert.rejects(storage.append(id, 0, Buffer.from('x')), UploadUnknown);
  await assert.rejects(storage.commit(id, 'other'), UploadUnknown);
  await storage.abort(id);
}
