import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { comeBackMs, spreadMs } from '../rules/spread.ts';
import { bearer, listens } from './support.ts';

test('a server that stops ends its streams with the time to come back, and waits for none of them', async (t) => {
  const qd = await quarterdeck(t);
  const member = await qd.member(qd.owner, 'member');
  const streams = [
    ...(await Promise.all(Array.from({ length: 8 }, () => listens(t, qd.url, bearer(qd.owner))))),
    ...(await Promise.all(Array.from({ length: 8 }, () => listens(t, qd.url, bearer(member))))),
  ];
  const stopped = qd.stop();
  const times = await Promise.all(
    streams.map(async (stream) => {
      const { data } = await stream.next('bye');
      await stream.ended;
      return data['retryAfterMs'] as number;
    }),
  );
  await stopped;
  assert.ok(
    times.every((ms) => ms >= 500 && ms <= 1_000),
    String(times),
  );
  assert.ok(new Set(times).size > 4, 'they do not all come back at once');
});

test('many clients come back at a hundred a second', () => {
  assert.deepEqual([spreadMs(1), spreadMs(1_000), spreadMs(100_000)], [10, 10_000, 30_000]);
  assert.deepEqual([comeBackMs(1_000, 0), comeBackMs(1_000, 0.5), comeBackMs(1_000, 1)], [500, 5_500, 10_500]);
});
