import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fileStorage, type Storage } from '../../storage/index.ts';
import { makeSpool, type Spool, type SpoolPosition } from '../index.ts';

async function folderFor(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'qd-spool-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Like S3: objects are no files of this machine. */
const remote = (storage: Storage): Storage => ({ ...storage, fileOf: async () => undefined });

async function append(spool: Spool, ...bodies: string[]): Promise<SpoolPosition[]> {
  const { positions: places, written } = spool.append(bodies.map((b) => Buffer.from(b)));
  await written;
  return places;
}
const read = async (spool: Spool, place: SpoolPosition) => {
  const stream = await spool.read(place);
  return stream && text(stream);
};

test('bodies lie one behind the other, and each is read by itself', async (t) => {
  const dir = await folderFor(t);
  const spool = makeSpool({
    storage: await fileStorage(join(dir, 'blobs')),
    folder: join(dir, 'mail'),
    prefix: 'mail/segments',
    maxBytes: 20,
  });
  t.after(() => spool.close());
  const first = await append(spool, 'one', '', 'three');
  assert.deepEqual(await Promise.all(first.filter((p) => p.bytes).map((p) => read(spool, p))), ['one', 'three']);
  assert.equal(new Set(first.map((p) => p.key)).size, 1);
  // A segment that is full is not added to.
  await append(spool, 'x'.repeat(20));
  const [after] = await append(spool, 'after');
  assert.notEqual(after!.key, first[0]!.key);
  assert.equal(await read(spool, after!), 'after');
  assert.equal(await read(spool, first[0]!), 'one');
  // With files as the storage a segment is an object from its first byte on.
  assert.deepEqual(await readdir(join(dir, 'mail')).catch(() => []), []);
  assert.equal(
    await read(makeSpool({ storage: await fileStorage(join(dir, 'blobs')), folder: join(dir, 'mail'), prefix: 'mail/segments' }), after!),
    'after',
  );
});

test('where objects are no files, a segment is sealed, stored and then no file of this machine', async (t) => {
  const dir = await folderFor(t);
  const storage = remote(await fileStorage(join(dir, 'blobs')));
  const make = (folder: string) => makeSpool({ storage, folder: join(dir, folder), prefix: 'mail/segments', mostAgeMs: 0 });
  const spool = make('mail');
  const [place] = await append(spool, 'hello');
  assert.equal(await storage.open(place!.key), undefined);
  assert.equal(await read(make('elsewhere'), place!), undefined); // another machine cannot know it yet

  const told: string[] = [];
  const telling = {
    seal: async (key: string) => void told.push(`sealed ${key}`),
    stored: async (key: string) => {
      told.push(`stored ${key}`);
      assert.ok(await storage.stat(key));
    },
  };
  await spool.store(telling, new Date(0));
  assert.deepEqual(told, [`sealed ${place!.key}`, `stored ${place!.key}`]);
  assert.deepEqual(await readdir(join(dir, 'mail')), []);
  assert.equal(await read(make('elsewhere'), place!), 'hello');

  // One that a killed process left is found by its age.
  const killed = make('mail');
  const [left] = await append(killed, 'left behind');
  const [file] = await readdir(join(dir, 'mail'));
  await utimes(join(dir, 'mail', file!), new Date(1_000), new Date(1_000));
  const next = make('mail');
  await next.store(telling, new Date(0));
  assert.equal(await read(make('elsewhere'), left!), undefined);
  await next.store(telling, new Date(2_000));
  assert.equal(await read(make('elsewhere'), left!), 'left behind');
  await killed.close();
});

test('after a write that failed nothing more is added to that segment', async (t) => {
  const dir = await folderFor(t);
  const storage = await fileStorage(join(dir, 'blobs'));
  let isFull = true;
  const spool = makeSpool({
    // A directory that cannot be written to, until there is space again.
    storage: { ...storage, fileOf: async (key) => (isFull ? '/dev/full' : storage.fileOf(key)) },
    folder: join(dir, 'mail'),
    prefix: 'mail/segments',
  });
  t.after(() => spool.close());
  await assert.rejects(append(spool, 'lost'), /EEXIST|the storage is full/);
  isFull = false;
  const [place] = await append(spool, 'kept');
  assert.equal(await read(spool, place!), 'kept');
});
