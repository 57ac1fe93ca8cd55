import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRequestQueue } from '../../engine/intake/request-queue.ts';
import { makeInFlightRecipients } from '../../engine/queue/in-flight.ts';

test('one tenant cannot take every slot', async (t) => {
  await t.test('a few organizations with stuck mail leave slots for all others', () => {
    const held = makeInFlightRecipients(2_000);
    const fill = (org: string) => {
      let taken = 0;
      while (held.reserve(org)) taken++;
      return taken;
    };
    assert.equal(fill('a'), 1_000);
    for (const org of 'bcdefgh') fill(org);
    assert.ok(held.freeSlots > 0);
    assert.equal(held.reserve('new'), true);
    for (let n = 0; n < 1_000; n++) held.release('a');
    assert.ok(fill('new') > 100);
  });

  await t.test('a batch has its size however many organizations wait, and none is passed over', () => {
    const line = makeRequestQueue(2_000);
    const entry = (org: string) => ({ org, prepared: Array.from({ length: 100 }, () => ({ inline: Buffer.alloc(1) })) });
    for (let n = 0; n < 50; n++) for (const turn of [1, 2]) line.add(`org${n}`, entry(`org${n} ${turn}`) as never);
    const order: string[] = [];
    for (let batch = line.nextBatch(); batch.length > 0; batch = line.nextBatch()) {
      assert.ok(batch.length <= 5, String(batch.length));
      order.push(...(batch as unknown as { org: string }[]).map(({ org }) => org));
    }
    assert.equal(order.length, 100);
    assert.ok(order.slice(0, 50).every((org) => org.endsWith(' 1')));
  });
});
