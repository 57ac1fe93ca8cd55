import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../../db/index.ts';
import type { Logger } from '../../../log.ts';
import { startLane } from '../../lane.ts';
import type { ClaimedJob } from '../../store.ts';

test('jobs that fall due one right after the other share a claim, and one that is alone waits for nothing', async () => {
  let claims = 0;
  const claim = async () => {
    claims++;
    const job = { id: claims, kind: 'k', org_id: null, run_at: '', late_ms: 0, place: 0 } as unknown as ClaimedJob;
    return { claimed: claims === 1 ? [] : [job], nextMs: 1, orgs: [] };
  };
  const began = performance.now();
  const lane = startLane({
    lane: 'webhook',
    slots: 8,
    perOrg: 6,
    coalesceMs: 10,
    kinds: new Map(),
    db: { read: claim } as unknown as Db,
    log: {} as Logger,
    leasedHere: () => [],
    start: async () => {},
    release: () => {},
  });
  lane.wake(); // otherwise it only checks whether there are any
  await sleep(100);
  // The first claim found nothing, so no delay follows it; after each that did, ten milliseconds pass: true however slow this machine is.
  assert.ok(claims > 1 && claims <= 3 + (performance.now() - began) / 10, `${claims} claims`);
  await lane.stop();
});
