import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { runFor } from '../../fairness/index.ts';
import { pacedBytes } from '../paced-bytes.ts';

const bytes = Buffer.alloc(4 * 65_536);
const streamFor = (org: string) => runFor({ org, operation: 'test' }, () => pacedBytes(bytes));

async function ticker(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return async () => {
    t.mock.timers.tick(4);
    await nextTurn();
  };
}

/** All large responses of a process share one timer: what waits for a tick of this clock would never be sent once the clock is gone. */
async function ended(streams: Readable[], tick: () => Promise<void>) {
  for (const stream of streams) stream.destroy();
  for (let n = 0; n < 3; n++) await tick();
}

test('a caller with many connections delays a caller with one by a turn, not by its connections', async (t) => {
  const tick = await ticker(t);
  let crowdPieces = 0;
  const crowd = Array.from({ length: 400 }, () => streamFor('from crowd').on('data', () => crowdPieces++));
  await nextTurn();
  let isOver = false;
  streamFor('from one')
    .on('data', () => {})
    .on('end', () => {
      isOver = true;
    });
  await nextTurn();
  for (let n = 0; n < 12 && !isOver; n++) await tick();
  assert.ok(isOver, `not over after ${crowdPieces} pieces of the crowd`);
  await ended(crowd, tick);
});

test('a closed connection takes no turn', async (t) => {
  const tick = await ticker(t);
  for (let n = 0; n < 400; n++) {
    const stream = streamFor(`from ${n}`).on('data', () => assert.fail('a closed stream got a piece'));
    await null; // it is waiting for its turn now
    process.nextTick(() => stream.destroy());
  }
  await nextTurn();
  let pieces = 0;
  const one = streamFor('from one').on('data', () => pieces++);
  await nextTurn();
  await tick();
  assert.equal(pieces, 1, 'the first turn is that of the open connection');
  await ended([one], tick);
});
