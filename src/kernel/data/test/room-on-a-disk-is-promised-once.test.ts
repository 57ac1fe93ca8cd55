import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { test } from 'node:test';
import { scratch } from '../../../../test/harness/process.ts';
import { NoRoom, requireRoom, whileRoom, withRoom } from '../disk-room.ts';

const GiB = 2 ** 30;
const MiB = 2 ** 20;

test('room on a disk is promised once, and 2 GiB of it stay free', async (t) => {
  const { dir } = await scratch(t);
  const disk = { free: 7 * GiB };
  t.mock.method(fs, 'statfs', async () => ({ bavail: disk.free, bsize: 1 }));
  await requireRoom(dir, 5 * GiB);
  await assert.rejects(requireRoom(dir, 5 * GiB + 1), NoRoom);

  await withRoom(dir, 4 * GiB, async () => {
    await assert.rejects(requireRoom(dir, 2 * GiB), /2048 MiB are needed beside the 2048 MiB that stay free, and 3072 MiB are free/);
    await requireRoom(dir, GiB);
    await assert.rejects(
      withRoom(dir, 2 * GiB, async () => assert.fail('it was begun')),
      NoRoom,
    );
  });
  await assert.rejects(
    withRoom(dir, GiB, async () => {
      throw new Error('it failed');
    }),
    /it failed/,
  );
  await requireRoom(dir, 5 * GiB);

  // A body of unknown size, of which a copy is made afterwards.
  async function* body() {
    for (;;) {
      disk.free -= 16 * MiB;
      yield Buffer.alloc(16 * MiB);
    }
  }
  let passed = 0;
  disk.free = 2 * GiB + 200 * MiB;
  await assert.rejects(async () => {
    for await (const chunk of whileRoom(dir, body(), 1)) passed += chunk.length;
  }, NoRoom);
  assert.ok(passed > 0 && disk.free > 2 * GiB + passed - 32 * MiB, 'the copy of what was passed still fits');
});
