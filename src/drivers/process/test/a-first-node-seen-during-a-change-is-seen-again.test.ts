import assert from 'node:assert/strict';
import { Agent } from 'node:https';
import { test } from 'node:test';
import { freePort } from '../../../../test/harness/free-port.ts';
import { markOf } from '../../../kernel/programs/process.ts';
import { firstNodeJoined, runHealthLoop } from '../engine/health-loop.ts';
import type { ProcessPlane } from '../engine/state.ts';

test('a first node seen during another change is found again, and the scheduler is started', async () => {
  const target = { port: await freePort(), agents: { admin: new Agent() } };
  const plane = {
    directory: undefined,
    kine: undefined,
    servers: [{ record: await markOf(process.pid), target, unansweredProbes: 0, unreadyProbes: 0 }],
    controllers: new Map(),
    hasNodes: false,
    problem: undefined,
    applyCount: 0,
    applying: undefined,
    app: { log: { debug: () => {} } },
    parts: { cluster: () => ({ id: 'cls_x' }) },
    stopping: new AbortController(),
    ask: async () => {
      if (asked++ === 0) plane.applyCount++; // another change began and ended meanwhile, and knew of no node
      return { status: 200, body: { items: [{}] } };
    },
  } as unknown as ProcessPlane;
  let asked = 0;
  const told = Promise.withResolvers<void>();
  const awake = setInterval(() => {}, 1_000); // the health loop alone does not keep the process alive
  const healthLoop = runHealthLoop(plane, told.resolve, 1);
  await told.promise;
  clearInterval(awake);
  plane.stopping.abort();
  await healthLoop;
  assert.ok(asked >= 2, 'the first time it was not told');
  assert.deepEqual([plane.problem, plane.hasNodes], [firstNodeJoined, true]);
});
