import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, test } from 'node:test';
import { DigestMismatch, RangeUnsatisfiable } from '../index.ts';
import { cutOffAfter, inPieces, keysOf, MiB, readAll, sampleBytes, sha256, storages } from './storages.ts';

for (const { name, part, prepare } of storages) {
  suite(name, { concurrency: true }, () => {
    // The last with parts as large as they are in use.
    for (const size of [0, 1, 70_000, MiB, part, part + 1, 2 * part + 65_539, 17 * MiB + 3]) {
      test(`${size} bytes come back as they went in, from hand or from a stream`, async (t) => {
        const storage = await (await prepare(t, { isInEarnest: size > 16 * MiB })).open();
        const bytes = sampleBytes(size);
        const expected = { size, digest: sha256(bytes) };

        assert.deepEqual(await storage.put('in/hand', bytes), expected);
        assert.deepEqual(await storage.put('a/stream', inPieces(bytes, 65_521), { digest: expected.digest }), expected);

        assert.ok(bytes.equals((await readAll(storage, 'in/hand'))!));
        assert.ok(bytes.equals((await readAll(storage, 'a/stream'))!));
        assert.equal((await storage.stat('a/stream'))?.size, size);
      });
    }

    test('a range is clipped to the object, and refused beyond it', async (t) => {
      const storage = await (await prepare(t)).open();
      const bytes = sampleBytes(3000);
      await storage.put('ranged', bytes);

      for (const [offset, length] of [
        [0, 1],
        [2999, 1],
        [2000, 3001],
        [10, undefined],
        [0, 3000],
      ] as const) {
        const part = await storage.open('ranged', { offset, length });
        const expected = bytes.subarray(offset, length && offset + length);
        assert.deepEqual({ size: part?.size, length: part?.length }, { size: 3000, length: expected.length });
        assert.ok(expected.equals(Buffer.concat(await part!.stream.toArray())));
      }
      for (const range of [{ offset: 3000 }, { offset: 5000, length: 5001 }, { offset: 500, length: 0 }]) {
        await assert.rejects(storage.open('ranged', range), RangeUnsatisfiable);
      }
      assert.equal(await storage.open('missing', { offset: 1, length: 1 }), undefined);
    });

    for (const size of [1000, (part * 9) / 8]) {
      test(`a body of ${size} bytes that breaks off or is another one leaves nothing, and an older object as it was`, async (t) => {
        const storage = await (await prepare(t)).open();
        const bytes = sampleBytes(size);
        const digest = sha256(bytes);
        await storage.put('there', Buffer.from('before'));

        for (const key of ['new', 'there']) {
          await assert.rejects(storage.put(key, cutOffAfter(bytes)), /the sender went away/);
          await assert.rejects(storage.put(key, inPieces(bytes.subarray(1), 65_536), { digest }), DigestMismatch);
        }
        assert.deepEqual(await keysOf(storage), ['there']);
        assert.equal(String(await readAll(storage, 'there')), 'before');
        assert.equal(await storage.sweep(new Date(8.64e15)), 0, 'nothing is left to sweep');
      });
    }

    test('sha512 is checked as well, and what is no digest is refused', async (t) => {
      const storage = await (await prepare(t)).open();
      const bytes = sampleBytes(5000);
      const digest = `sha512:${createHash('sha512').update(bytes).digest('hex')}`;
      assert.equal((await storage.put('long', bytes, { digest })).digest, digest);
      await assert.rejects(storage.put('long', bytes, { digest: digest.replace(/.$/, (d) => (d === '0' ? '1' : '0')) }), DigestMismatch);
      for (const wrong of ['', 'sha256:', `md5:${'0'.repeat(32)}`, `sha256:${'A'.repeat(64)}`, `sha512:${'0'.repeat(64)}`]) {
        await assert.rejects(storage.put('long', bytes, { digest: wrong }), { status: 400 });
      }
    });

    test('a reader of an object that is replaced or removed reads it to its end', async (t) => {
      const storage = await (await prepare(t)).open();
      const bytes = sampleBytes(3 * MiB);
      await storage.put('moving', bytes);
      const reader = await storage.open('moving');
      await storage.put('moving', Buffer.from('next'));
      assert.equal(String(await readAll(storage, 'moving')), 'next');
      await storage.remove('moving');
      await storage.remove('moving');
      assert.equal(await storage.stat('moving'), undefined);
      assert.equal(await storage.open('moving'), undefined);
      assert.ok(bytes.equals(Buffer.concat(await reader!.stream.toArray())));
    });

    test('keys are listed in byte order, from anywhere, through all slices', async (t) => {
      const storage = await (await prepare(t)).open();
      const keys = [
        'a-b/1',
        'a.b/1',
        'a/x/1',
        'a/x/2',
        'a/y',
        'a0',
        'ab/1',
        'Z/1',
        'raw/2026/11/02/01K.eml.zst',
        'raw/2026/11/10/02K.eml.zst',
      ];
      for (const key of keys) await storage.put(key, Buffer.from(key));
      await storage.createUpload();

      const ordered = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.deepEqual(await keysOf(storage), ordered);
      for (const after of [...ordered, 'a', 'a/', 'a/x', 'a/x/', 'a/x/10', 'raw/2026/11/1', '0', 'zz']) {
        assert.deepEqual(
          await keysOf(storage, '', after),
          ordered.filter((key) => key > after),
          `after ${after}`,
        );
      }
      for (const prefix of ['a', 'a/', 'a/x', 'a/x/', 'a/x/1', 'raw/2026/11/1', 'none']) {
        assert.deepEqual(
          await keysOf(storage, prefix),
          ordered.filter((key) => key.startsWith(prefix)),
          `below ${prefix}`,
        );
        assert.deepEqual(
          await keysOf(storage, prefix, 'a/x/1'),
          ordered.filter((key) => key.startsWith(prefix) && key > 'a/x/1'),
        );
      }
      const [first] = await Array.fromAsync(storage.list('Z/'));
      assert.deepEqual(first, { key: 'Z/1', size: 3, modifiedAt: first!.modifiedAt });
      assert.ok(first!.modifiedAt instanceof Date);
    });

    test('a directory of keys is no object', async (t) => {
      const storage = await (await prepare(t)).open();
      await storage.put('a/b', Buffer.from('x'));
      for (const key of ['a', 'a/b/c']) {
        assert.equal(await storage.stat(key), undefined);
        assert.equal(await storage.open(key), undefined);
      }
    });

    test('a key that could leave the storage, or hide in it, is refused before anything happens', async (t) => {
      const storage = await (await prepare(t)).open();
      const id = await storage.createUpload();
      const tricks = [
        '',
        '/',
        '/a',
        'a/',
        'a//b',
        '.',
        '..',
        '../a',
        'a/../b',
        '.uploads/x',
        'a/.b',
        'a\\b',
        'a\0b',
        'a b',
        'ä',
        'a%2fb',
        'a\n',
      ];
      for (const key of [...tricks, 'x'.repeat(201), `${'x/'.repeat(256)}x`]) {
        const refused = { message: /is no storage key/ };
        await assert.rejects(storage.put(key, Buffer.from('x')), refused);
        await assert.rejects(async () => storage.open(key), refused);
        await assert.rejects(async () => storage.stat(key), refused);
        await assert.rejects(async () => storage.remove(key), refused);
        await assert.rejects(storage.commit(id, key), refused);
      }
      assert.deepEqual(await keysOf(storage), []);
    });
  });
}
