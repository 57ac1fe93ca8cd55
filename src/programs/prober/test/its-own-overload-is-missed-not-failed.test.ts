import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeGuard, parseAllow } from '../../../kernel/guard/index.ts';
import { httpServer } from '../../../kernel/guard/test/servers.ts';
import { lostMsOf, makeChecker } from '../checks/checker.ts';
import { type Clock, systemClock } from '../clock.ts';
import { watchLoop } from '../health/loop-watch.ts';
import { heard, httpMonitor, httpTarget, manualClock } from './support.ts';

const busy = (ms: number) => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

test('a check that ran out of time while the prober stood still is missed; one that did so by itself is an error', async (t) => {
  const port = await httpServer(t, (request, response) => {
    if (request.url === '/quick') response.end();
  });
  const { log, lines } = heard();
  const guard = makeGuard({ allow: parseAllow('127.0.0.0/8') });
  const checker = (clock: Clock) => {
    const loop = watchLoop(clock);
    t.after(() => loop.stop());
    return makeChecker({ guard, clock, loop, log, userAgent: () => 'test' });
  };
  const monitor = (path: string, timeoutMs = 200) =>
    httpMonitor('mon_a', { timeoutMs, target: httpTarget(`http://127.0.0.1:${port}${path}`) });

  // By a clock that stands still a prober loses no time, however busy the machine of this test is.
  const unhindered = checker(manualClock());
  assert.equal((await unhindered(monitor('/quick', 20_000))).outcome, 'pass');
  const slow = await unhindered(monitor('/slow'));
  assert.deepEqual([slow.outcome, slow.errorKind], ['error', 'timeout']);

  const check = checker(systemClock);
  const late = check(monitor('/quick'));
  busy(400);
  assert.deepEqual(await late, { outcome: 'missed', errorKind: 'overloaded' });
  const hindered = check(monitor('/slow'));
  setTimeout(() => busy(120), 10);
  assert.deepEqual(await hindered, { outcome: 'missed', errorKind: 'overloaded' });
  await new Promise(setImmediate);
  assert.ok(lines.some(({ msg }) => /overloaded/.test(String(msg))));
});

test('whatever else goes wrong in a prober is missed, and logged', async () => {
  const clock = manualClock();
  const { log, lines } = heard();
  const connector = async () => Promise.reject(Object.assign(new Error('too many open files'), { code: 'EMFILE' }));
  const guard = makeGuard({ resolver: { resolve: async () => [{ address: '8.8.8.8' }] }, connector });
  const check = makeChecker({ guard, clock, loop: watchLoop(clock), log, userAgent: () => 'test' });
  assert.deepEqual(await check(httpMonitor('mon_a')), { outcome: 'missed', errorKind: 'overloaded' });
  await new Promise(setImmediate);
  assert.match(JSON.stringify(lines), /EMFILE/);
});

test('stalls of the loop are counted from 50 ms on, and forgotten after a minute', async () => {
  const clock = manualClock();
  const loop = watchLoop(clock);
  const began = clock.now();
  await clock.advance(1_000);
  assert.equal(loop.lostSince(began), 0);
  clock.stall(90);
  await clock.advance(0);
  assert.equal(loop.lostSince(began), 0, 'a delay of 40 ms is none');
  await clock.advance(500);
  clock.stall(350);
  assert.equal(loop.lostSince(began), 300, 'also for those who ask while it still lasts');
  await clock.advance(0);
  assert.equal(loop.lostSince(began), 300);
  assert.equal(loop.lostSince(clock.now()), 0);
  await clock.advance(61_000);
  assert.equal(loop.lostSince(began), 0);
  loop.stop();
});

test('a time-out is the target’s alone when our timer was on time and little was lost', () => {
  assert.equal(lostMsOf(1_010, 1_000, 0), 0);
  assert.equal(lostMsOf(1_010, 1_000, 240), 0);
  assert.equal(lostMsOf(1_010, 1_000, 250), 250);
  assert.equal(lostMsOf(1_060, 1_000, 0), 60);
});
