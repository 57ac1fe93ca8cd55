import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Host } from '../../area.ts';
import { makeServed } from '../open.ts';

test('a bundle that cannot be made is tried again after ten seconds, however many visitors come', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let tries = 0;
  const noted: string[] = [];
  const log = { error: (_: unknown, text: string) => noted.push(text) } as unknown as Host['app']['log'];
  const served = makeServed({ log }, async () => {
    tries++;
    throw new Error('a source is broken');
  });
  const refused = () => assert.rejects(served.find(), { status: 503, message: /a source is broken/ });
  await Promise.all([refused(), refused()]);
  await refused();
  assert.equal(tries, 1);
  assert.equal(noted.length, 1);
  t.mock.timers.tick(10_000);
  await refused();
  assert.equal(tries, 2);
});
