import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tcpServer } from '../../../kernel/guard/test/servers.ts';
import type { Observation } from '../checks/observation.ts';
import { parseCanary, watchCanaries } from '../health/canaries.ts';
import { makeSelfFault } from '../health/self-fault.ts';
import { httpMonitor, httpTarget, manualClock } from './support.ts';

const pass: Observation = { outcome: 'pass' };
const error: Observation = { outcome: 'error', errorKind: 'connect_timeout' };

/** So many monitors, each on a host of its own unless told otherwise, all well. */
function watched(count: number, host = (at: number) => `h${at}.example`) {
  const clock = manualClock();
  const fault = makeSelfFault(clock);
  const monitors = Array.from({ length: count }, (_, at) => httpMonitor(`mon_${at}`, { target: httpTarget(`http://${host(at)}/`) }));
  for (const monitor of monitors) fault.record(monitor, pass);
  const round = async (see: (at: number) => Observation, forMs = 60_000) => {
    for (const [at, monitor] of monitors.entries()) {
      await clock.advance(forMs / count);
      fault.record(monitor, see(at));
    }
  };
  return { clock, fault, monitors, round };
}

test('when most monitors of many hosts fail within an interval, it is us', async () => {
  const { fault, round } = watched(20);
  await round(() => pass);
  assert.equal(fault.isSuspected(), false);
  await round(() => error);
  assert.equal(fault.isSuspected(), true);
});

test('it is noticed after a few checks, not after a whole interval: before any of them is confirmed', async () => {
  const { clock, fault, monitors, round } = watched(100);
  await round(() => pass);
  let failed = 0;
  for (const monitor of monitors) {
    await clock.advance(600);
    fault.record(monitor, error);
    failed++;
    if (fault.isSuspected()) break;
  }
  assert.ok(failed * 600 < 10_000, `${failed} failures`);
});

test('it is over when checks pass again', async () => {
  const { fault, round } = watched(20);
  await round(() => pass);
  await round(() => error, 30_000);
  await round(() => pass, 30_000);
  assert.equal(fault.isSuspected(), false);
});

test('or after two intervals: everything may really be down', async () => {
  const { fault, round } = watched(20);
  await round(() => pass);
  await round(() => error);
  await round(() => error);
  assert.equal(fault.isSuspected(), true);
  await round(() => error);
  assert.equal(fault.isSuspected(), false);
});

test('of the most watched, whatever is looked at less often and turns later', async () => {
  const clock = manualClock();
  const fault = makeSelfFault(clock);
  const every = (seconds: number) =>
    Array.from({ length: 20 }, (_, at) => httpMonitor(`mon_${seconds}_${at}`, { intervalSeconds: seconds }));
  const [often, seldom] = [every(30), every(600)];
  for (const monitor of [...often, ...seldom]) fault.record(monitor, pass);
  const suspectedAt: number[] = [];
  // Each in its turn: one that is looked at often every 1.5 s, one that is not every 30 s.
  for (let turn = 0; turn < 800; turn++) {
    await clock.advance(1_500);
    const see = turn < 400 ? pass : error;
    fault.record(often[turn % 20]!, see);
    if (turn % 20 === 0) fault.record(seldom[(turn / 20) % 20]!, see);
    if (fault.isSuspected()) suspectedAt.push(turn);
  }
  assert.ok(suspectedAt.length > 0 && suspectedAt[0]! < 420, 'noticed by those that are looked at often');
  assert.ok(suspectedAt.at(-1)! - 400 < 60, `kept quiet for ${(suspectedAt.at(-1)! - 400) * 1.5} s`);
});

test('trouble that comes later, while other things fail for good, is suspected again', async () => {
  const { fault, round } = watched(40);
  await round(() => pass);
  // So many that most checks fail: the suspicion ends by itself.
  for (let i = 0; i < 4; i++) await round((at) => (at % 5 < 3 ? error : pass));
  assert.equal(fault.isSuspected(), false);
  await round(() => error);
  assert.equal(fault.isSuspected(), true);
});

test('a few, one host with many monitors, wrong answers and forbidden targets are outages as any other', async () => {
  const some: [number, (at: number) => Observation, ((at: number) => string)?][] = [
    [9, () => error],
    [40, (at) => (at % 5 === 0 ? error : pass)],
    [40, () => error, () => 'one.example'],
    [40, () => ({ outcome: 'fail', errorKind: 'status_mismatch' })],
    [40, () => ({ outcome: 'error', errorKind: 'blocked_target' })],
    [40, () => ({ outcome: 'missed' })],
  ];
  for (const [count, see, host] of some) {
    const { fault, round } = watched(count, host);
    await round(() => pass);
    await round(see);
    assert.equal(fault.isSuspected(), false, `${count} monitors, ${JSON.stringify(see(0))}`);
  }
});

test('monitors that were never well, or are gone, say nothing', async () => {
  const clock = manualClock();
  const fault = makeSelfFault(clock);
  for (let at = 0; at < 50; at++) fault.record(httpMonitor(`mon_${at}`), error);
  assert.equal(fault.isSuspected(), false);
  const { fault: other, round, monitors } = watched(12);
  await round(() => pass);
  other.keepOnly((id) => id === monitors[0]!.id);
  await round(() => error);
  assert.equal(other.isSuspected(), false);
});

test('canaries: cut off when none answers, asked every 15 s and when something fails', async () => {
  const clock = manualClock();
  const heard: Record<string, boolean> = { a: true, b: true };
  let rounds = 0;
  const ask = async ({ host }: { host: string }) => {
    if (host === 'a') rounds++;
    return heard[host]!;
  };
  const canaries = watchCanaries(clock, [parseCanary('a:1'), parseCanary('b:2')], ask);
  await clock.advance(15_000);
  heard.a = false;
  await clock.advance(15_000);
  assert.deepEqual([canaries.areSilent(), rounds], [false, 3]);
  heard.b = false;
  await clock.advance(5_000);
  canaries.ask();
  canaries.ask();
  await clock.advance(1);
  assert.deepEqual([canaries.areSilent(), rounds], [true, 4]);
  heard.a = true;
  await clock.advance(15_000);
  assert.equal(canaries.areSilent(), false);
  canaries.stop();
  await clock.advance(60_000);
  assert.equal(rounds, 5);
  assert.equal(watchCanaries(clock, []).areSilent(), false);
});

test('a canary is a TCP connection to what the operator named', async (t) => {
  const clock = manualClock();
  const port = await tcpServer(t, () => {});
  const there = watchCanaries(clock, [parseCanary(`127.0.0.1:${port}`)]);
  const closed = watchCanaries(clock, [parseCanary('127.0.0.1:1')]);
  const until = performance.now() + 5_000;
  while (!closed.areSilent() && performance.now() < until) await new Promise(setImmediate);
  assert.deepEqual([there.areSilent(), closed.areSilent()], [false, true]);
  there.stop();
  closed.stop();
  assert.deepEqual(parseCanary('[::1]:443'), { host: '::1', port: 443 });
  for (const wrong of ['example.org', 'example.org:0', 'a:99999', ':80', 'http://a:80', '::1:80'])
    assert.throws(() => parseCanary(wrong), /not host:port/);
});
