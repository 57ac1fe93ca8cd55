import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyMs } from '../../../../drivers/process/rules/copy-limits.ts';
import { paced } from '../../engine/backups/pace.ts';
import { checkSecondsOf } from '../../rules/backups.ts';

const GiB = 2 ** 30;

test('the check of a large backup has more time than that of a small one, and none has more than twelve hours', () => {
  assert.equal(checkSecondsOf(0), 900);
  assert.equal(checkSecondsOf(10 * GiB), 900 + 2_560);
  assert.equal(checkSecondsOf(2_048 * GiB), 12 * 3_600);
  assert.equal(copyMs(600_000, 8 * GiB), 600_000 + 2_048_000, 'and so have the tools that it needs');
});

test('a copy is read at a steady rate, and a slow source does not make up for lost time', async () => {
  const clock = { now: 0, rested: [] as number[] };
  const pace = {
    now: () => clock.now,
    rest: async (ms: number) => {
      clock.now += ms;
      clock.rested.push(ms);
    },
  };
  async function* source() {
    for (let n = 0; n < 8; n++) {
      if (n === 4) clock.now += 5_000;
      yield Buffer.alloc(2 ** 18);
    }
  }
  let bytes = 0;
  for await (const chunk of paced(source(), 2 ** 20, pace)) bytes += chunk.length;
  assert.equal(bytes, 2 ** 21);
  assert.deepEqual(clock.rested, [250, 250, 250, 250, 250, 250, 250]);
});
