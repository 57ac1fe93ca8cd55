import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type FakeS3, fakeS3 } from '../../../../test/fakes/s3.ts';
import { StorageFull, StorageUnavailable } from '../index.ts';
import { inPieces, keysOf, MiB, opened, readAll, sampleBytes, sha256, smallPart } from './storages.ts';

const eighth = smallPart / 8;
const bytes = sampleBytes(9 * eighth); // two parts
const digest = sha256(bytes);
const unavailable = { status: 503, code: 'ServiceUnavailable' };
const troubles = [unavailable, 'cut', 'cut after'] as const;
const allTroubles = [...troubles, { status: 403, code: 'AccessDenied' }, 'silence'] as const;

async function broken(t: TestContext) {
  const fake = await fakeS3({ partBytes: smallPart });
  t.after(() => fake.stop());
  const storage = opened(t, { ...fake, limits: { attempts: 1 } });
  const impatient = opened(t, { ...fake, limits: { attempts: 1, silenceMs: 50 } });
  /** Only a caller that waits for a response that never comes needs a short timeout. */
  return { fake, storage, underTrouble: (trouble: Trouble) => (trouble === 'silence' ? impatient : storage) };
}

type Trouble = ReturnType<FakeS3['trouble']>;

const during = (operation: string, trouble: Trouble, fake: FakeS3) => {
  fake.trouble = (request) => (request.operation === operation ? trouble : undefined);
};

suite('S3 in trouble', () => {
  test('a commit that fails anywhere is done by trying again', async (t) => {
    const { fake, storage, underTrouble } = await broken(t);
    const id = await storage.createUpload();
    await storage.append(id, 0, bytes);
    for (const operation of ['ListObjectsV2', 'GetObject', 'CreateMultipartUpload', 'UploadPartCopy', 'CompleteMultipartUpload']) {
      for (const trouble of operation === 'UploadPartCopy' ? allTroubles : troubles) {
        during(operation, trouble, fake);
        await assert.rejects(
          underTrouble(trouble).commit(id, 'blob', { digest }),
          StorageUnavailable,
          `${operation}: ${JSON.stringify(trouble)}`,
        );
        fake.trouble = () => undefined;
        assert.equal(await storage.uploadOffset(id), bytes.length);
        const expected = operation === 'CompleteMultipartUpload' && trouble === 'cut after';
        assert.equal((await storage.stat('blob'))?.size, expected ? bytes.length : undefined);
        await storage.remove('blob');
      }
    }
    await storage.commit(id, 'blob', { digest });
    assert.ok(bytes.equals((await readAll(storage, 'blob'))!));

    assert.equal(fake.multiparts.size, 1, 'only the one whose id we never heard is left');
    assert.equal(await storage.sweep(new Date(8.64e15)), 1);
    assert.equal(fake.multiparts.size, 0);
  });

  test('a small commit that fails is done by trying again', async (t) => {
    const { fake, storage, underTrouble } = await broken(t);
    const id = await storage.createUpload();
    await storage.append(id, 0, Buffer.from('small'));
    for (const trouble of allTroubles) {
      during('CopyObject', trouble, fake);
      await assert.rejects(underTrouble(trouble).commit(id, 'blob'), StorageUnavailable);
    }
    fake.trouble = () => undefined;
    await storage.commit(id, 'blob');
    assert.equal(String(await readAll(storage, 'blob')), 'small');
  });

  test('a commit that only fails to clean up has succeeded', async (t) => {
    const { fake, storage } = await broken(t);
    const id = await storage.createUpload();
    await storage.append(id, 0, bytes);
    during('DeleteObject', unavailable, fake);
    await storage.commit(id, 'blob');
    assert.ok(bytes.equals((await readAll(storage, 'blob'))!));
    fake.trouble = () => undefined;
    assert.equal(await storage.sweep(new Date(8.64e15)), 1);
    assert.deepEqual([...fake.objects.keys()], ['blob']);
  });

  test('a server that stops in the middle of an append keeps what it had taken, and the rest follows later', async (t) => {
    const { fake, storage } = await broken(t);
    const id = await storage.createUpload();
    await storage.append(id, 0, bytes.subarray(0, 100));
    const firstPiece = `.uploads/${id}/${'0'.repeat(16)}`;
    const stoppedHalfway = async function* () {
      yield* inPieces(bytes.subarray(100, 8.5 * eighth), 65_536);
      while (fake.objects.get(firstPiece)!.body.length < smallPart) await setImmediate();
      await fake.stop();
      yield* inPieces(bytes.subarray(8.5 * eighth), 65_536);
    };
    await assert.rejects(storage.append(id, 100, stoppedHalfway()), StorageUnavailable);
    await assert.rejects(storage.uploadOffset(id), StorageUnavailable);
    await assert.rejects(storage.createUpload(), StorageUnavailable);

    await fake.start();
    const restarted = opened(t, fake);
    const offset = await restarted.uploadOffset(id);
    assert.equal(offset, smallPart);
    await restarted.append(id, offset, bytes.subarray(offset));
    await restarted.commit(id, 'blob', { digest });
    assert.ok(bytes.equals((await readAll(restarted, 'blob'))!));
  });

  test('growing the last piece fails without losing what it held', async (t) => {
    const { fake, storage, underTrouble } = await broken(t);
    const id = await storage.createUpload();
    await storage.append(id, 0, Buffer.from('kept'));
    for (const operation of ['ListObjectsV2', 'GetObject', 'PutObject']) {
      for (const trouble of [unavailable, 'cut', 'silence', 'cut body'] as const) {
        if (operation === 'PutObject' && trouble === 'cut body') continue;
        during(operation, trouble, fake);
        await assert.rejects(underTrouble(trouble).append(id, 4, Buffer.from('more')), StorageUnavailable, operation);
        fake.trouble = () => undefined;
        assert.equal(await storage.uploadOffset(id), 4);
      }
    }
    during('PutObject', 'cut after', fake);
    await assert.rejects(storage.append(id, 4, Buffer.from('more')), StorageUnavailable);
    fake.trouble = () => undefined;
    assert.equal(await storage.uploadOffset(id), 8, 'written, though the answer was lost: the offset tells');
    await storage.commit(id, 'blob');
    assert.equal(String(await readAll(storage, 'blob')), 'keptmore');
  });

  test('a put that fails anywhere leaves nothing to see and nothing to pay for', async (t) => {
    const { fake, storage, underTrouble } = await broken(t);
    for (const operation of ['UploadPart', 'CompleteMultipartUpload']) {
      for (const trouble of [unavailable, 'cut', 'silence'] as const) {
        during(operation, trouble, fake);
        await assert.rejects(underTrouble(trouble).put('blob', bytes), StorageUnavailable);
        // An impatient caller may also not wait for the end of the rollback.
        if (trouble === 'silence') await storage.sweep(new Date(8.64e15));
        assert.equal(fake.multiparts.size, 0);
      }
    }
    during('PutObject', unavailable, fake);
    await assert.rejects(storage.put('small', Buffer.from('x')), StorageUnavailable);
    assert.deepEqual(await keysOf(storage), []);
    await fake.stop();
    await assert.rejects(storage.put('blob', bytes), StorageUnavailable);
    await fake.start();
  });

  test('one bad answer is tried again without anybody noticing', async (t) => {
    const fake = await fakeS3({ partBytes: smallPart });
    t.after(() => fake.stop());
    const storage = opened(t, { ...fake, limits: { attempts: 2 } });
    for (const trouble of troubles) {
      const failed = new Set<string>();
      fake.trouble = ({ operation }) => {
        const first = !failed.has(operation);
        failed.add(operation);
        return first ? trouble : undefined;
      };
      await storage.put('blob', bytes).catch((error) => {
        // A completion that succeeded with a lost response is unknown the second time: the outcome cannot be guessed, so the caller gets an
        // error.
        assert.deepEqual([trouble, error.cause.name], ['cut after', 'NoSuchUpload']);
      });
      assert.ok(failed.has('CreateMultipartUpload') && failed.has('UploadPart') && failed.has('CompleteMultipartUpload'));
      assert.ok(bytes.equals((await readAll(storage, 'blob'))!));
      await storage.remove('blob');
    }
  });

  test('an object that breaks off while it is read ends in an error, never short', async (t) => {
    const { fake, storage } = await broken(t);
    await storage.put('blob', bytes);
    for (const trouble of ['cut body', 'cut'] as const) {
      during('GetObject', trouble, fake);
      await assert.rejects(readAll(storage, 'blob'), StorageUnavailable);
    }
    for (const operation of ['HeadObject', 'DeleteObject']) {
      during(operation, unavailable, fake);
      await assert.rejects(operation === 'HeadObject' ? storage.stat('blob') : storage.remove('blob'), StorageUnavailable);
    }
  });

  test('a wrong secret, a wrong bucket and a full one are told apart in the cause', async (t) => {
    const { fake, storage } = await broken(t);
    const causeOf = (name: string) => (error: Error) => error instanceof StorageUnavailable && (error.cause as Error).name === name;
    await assert.rejects(opened(t, { ...fake, secretAccessKey: 'wrong' }).put('x', bytes), causeOf('SignatureDoesNotMatch'));
    await assert.rejects(opened(t, { ...fake, bucket: 'other' }).put('x', bytes), causeOf('NoSuchBucket'));
    for (const full of [
      { status: 507, code: 'XMinioStorageFull' },
      { status: 403, code: 'QuotaExceeded' },
    ]) {
      during('PutObject', full, fake);
      await assert.rejects(storage.put('x', Buffer.from('x')), StorageFull);
    }
  });

  test('a reader who leaves lets go of the connection', async (t) => {
    const { storage } = await broken(t);
    await storage.put('blob', sampleBytes(4 * MiB)); // more than any buffer on its way holds
    for (let reader = 0; reader < 60; reader++) (await storage.open('blob'))!.stream.destroy(); // there are 50 connections
    assert.equal((await storage.stat('blob'))?.size, 4 * MiB);
  });
});
