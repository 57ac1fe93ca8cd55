import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Db } from '../../../db/index.ts';
import type { Logger } from '../../../log.ts';
import { startLane } from '../../lane.ts';

test('wakes that come together share a claim, and none of them is lost', async () => {
  let claims = 0;
  const claim = async () => {
    claims++;
    await nextTurn();
    return { claimed: [], nextMs: 60_000, orgs: [] };
  };
  const lane = startLane({
    lane: 'page',
    slots: 8,
    perOrg: 6,
    coalesceMs: 10,
    db: { read: claim } as unknown as Db,
    log: {} as Logger,
    kinds: new Map(),
    leasedHere: () => [],
    start: async () => {},
    release: () => {},
  });
  const began = performance.now();
  for (let i = 0; i < 200; i++) {
    lane.wake();
    await nextTurn();
  }
  // The first at once, those within ten milliseconds after a claim by the next one: true however slow this machine is.
  assert.ok(claims <= 2 + (performance.now() - began) / 10, `200 wakes led to ${claims} claims`);
  const before = claims;
  lane.wake();
  while (claims === before) await nextTurn();
  await lane.stop();
});
