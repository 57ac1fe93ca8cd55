import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { fakeS3 } from '../../../../test/fakes/s3.ts';
import { StorageUnavailable, UploadUnknown } from '../index.ts';
import { inParallel } from '../s3-client.ts';
import { opened, sampleBytes, smallPart } from './storages.ts';

const bytes = sampleBytes((smallPart * 9) / 8); // two pieces

async function uploaded(t: TestContext, bytes: Uint8Array) {
  const fake = await fakeS3({ partBytes: smallPart });
  t.after(() => fake.stop());
  const storage = opened(t, { ...fake, limits: { attempts: 1 } });
  const id = await storage.createUpload();
  await storage.append(id, 0, bytes);
  const first = `.uploads/${id}/${'0'.repeat(16)}`;
  return { fake, storage, id, first };
}

suite('an upload in pieces', () => {
  test('half cancelled it is no shorter upload, but none', async (t) => {
    const { fake, storage, id, first } = await uploaded(t, bytes);
    const refused = { status: 503, code: 'ServiceUnavailable' };
    fake.trouble = ({ operation, key }) => (operation === 'DeleteObject' && key === first ? refused : undefined);
    await assert.rejects(storage.abort(id), StorageUnavailable);
    assert.equal(await storage.uploadOffset(id), bytes.length, 'not begun, so all of it is there');

    fake.trouble = ({ operation, key }) => (operation === 'DeleteObject' && key !== first ? refused : undefined);
    await assert.rejects(storage.abort(id), StorageUnavailable);
    await assert.rejects(storage.uploadOffset(id), UploadUnknown);
    fake.trouble = () => undefined;
    await storage.abort(id);
    assert.equal(fake.objects.size, 0, 'a second attempt deletes the rest');
  });

  test('half cancelled and forgotten it is swept', async (t) => {
    const { fake, storage, first } = await uploaded(t, bytes);
    fake.objects.delete(first);
    assert.equal(await storage.sweep(new Date(8.64e15)), 1);
    assert.equal(fake.objects.size, 0);
  });

  test('with one fresh piece it is in use, however old the others are', async (t) => {
    const { fake, storage, id, first } = await uploaded(t, bytes);
    fake.objects.get(first)!.modifiedAt = new Date(0);
    assert.equal(await storage.sweep(new Date(1000)), 0);
    assert.equal(await storage.uploadOffset(id), bytes.length);
    for (const piece of fake.objects.values()) piece.modifiedAt = new Date(0);
    assert.equal(await storage.sweep(new Date(1000)), 1);
    assert.equal(fake.objects.size, 0);
  });

  test('more of them than one slice of a listing are all found', async (t) => {
    const { fake, storage, id, first } = await uploaded(t, Buffer.from('0'));
    const at = (offset: number) => first.slice(0, -2) + String(offset).padStart(2, '0');
    for (let offset = 1; offset < 12; offset++) fake.objects.set(at(offset), { ...fake.objects.get(first)! });
    assert.equal(await storage.uploadOffset(id), 12);
    assert.equal(await storage.append(id, 12, Buffer.from('0')), 13);

    fake.objects.delete(at(5));
    assert.equal(await storage.uploadOffset(id), 5, 'nothing beyond a gap counts');
  });

  test('a failing request among many ends them', async () => {
    const begun: number[] = [];
    const work = async (item: number) => {
      begun.push(item);
      await null;
      if (item === 1) throw new Error('one failed');
    };
    await assert.rejects(
      inParallel(
        3,
        Array.from({ length: 100 }, (_, item) => item),
        work,
      ),
      /one failed/,
    );
    assert.ok(begun.length <= 6, `${begun.length} were begun`);
  });
});
