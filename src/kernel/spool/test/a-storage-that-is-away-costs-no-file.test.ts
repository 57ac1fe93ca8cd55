import assert from 'node:assert/strict';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Body } from '../../storage/index.ts';
import { makeSpool } from '../index.ts';

test('a storage that is away costs no file, and gets everything once it is back', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'spool-'));
  t.after(() => rm(root, { recursive: true }));
  const folder = join(root, 'mail');
  const objects = new Map<string, Buffer>();
  let isAway = true;
  const put = async (key: string, body: Body) => {
    if (isAway) throw new Error('away');
    objects.set(key, await buffer(body as never));
    return { size: 0, digest: '' };
  };
  const spool = makeSpool({
    storage: { fileOf: async () => undefined, put, open: async () => undefined } as never,
    folder,
    prefix: 'mail/segments',
    maxBytes: 1,
  });
  const keys: string[] = [];
  for (const text of ['one', 'two', 'three']) {
    const { positions: places, written } = spool.append([Buffer.from(text)]);
    await written;
    keys.push(places[0]!.key);
  }
  spool.rotate();
  const openFiles = async () => {
    const links = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
    return links.filter((link) => link.startsWith(root)).length;
  };
  const telling = { seal: async () => {}, stored: async () => {} };
  await assert.rejects(spool.store(telling, new Date(0)), /away/);
  for (let tries = 0; (await openFiles()) > 0 && tries < 50; tries++) await new Promise((next) => setTimeout(next, 10));
  assert.equal(await openFiles(), 0); // a leaked open file handle ends the process when it is collected
  isAway = false;
  await spool.store(telling, new Date(Date.now() + 60_000));
  assert.deepEqual(
    keys.map((key) => objects.get(key)?.toString()),
    ['one', 'two', 'three'],
  );
  assert.deepEqual(await readdir(folder), []);
});
