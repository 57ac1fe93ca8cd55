import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostPortOf } from '../schedule/host-rate.ts';
import { makeScheduler } from '../schedule/scheduler.ts';
import { httpMonitor, httpTarget, manualClock } from './support.ts';

function bench(tookMs = 0) {
  const clock = manualClock();
  const started: { id: string; at: number }[] = [];
  const reported: { id: string; outcome: string; errorKind?: string; at: number }[] = [];
  let atOnce = 0;
  const most = { atOnce: 0 };
  const scheduler = makeScheduler({
    clock,
    vantage: 'local',
    run: async ({ id }) => {
      started.push({ id, at: clock.now() });
      most.atOnce = Math.max(most.atOnce, ++atOnce);
      if (tookMs > 0) await new Promise<void>((resolve) => clock.at(clock.now() + tookMs, resolve));
      atOnce--;
      return { outcome: 'pass' };
    },
    report: ({ id }, { outcome, errorKind }, at) => reported.push({ id, outcome, ...(errorKind && { errorKind }), at }),
  });
  return { clock, started, reported, scheduler, most };
}
const all = { removed: [], full: true };

test('a prober that stood still for long misses one check of each monitor, and goes on at their places', async () => {
  const { clock, started, reported, scheduler } = bench();
  scheduler.assign([httpMonitor('mon_a'), httpMonitor('mon_b')], all);
  await clock.advance(120_000);
  const before = clock.now();
  const ran = started.length;
  clock.stall(600_000);
  await clock.advance(0);
  const missed = reported.filter(({ outcome }) => outcome === 'missed');
  assert.deepEqual(missed.map(({ id, errorKind }) => `${id} ${errorKind}`).sort(), ['mon_a overloaded', 'mon_b overloaded']);
  assert.ok(
    missed.every(({ at }) => at >= before && at <= before + 60_000),
    'told for the time at which it was due',
  );
  assert.equal(started.length, ran);
  await clock.advance(60_000);
  assert.equal(started.length, ran + 2);
});

test('late by less than an interval is late, not missed', async () => {
  const { clock, started, reported, scheduler } = bench();
  scheduler.assign([httpMonitor('mon_a')], all);
  await clock.advance(130_000);
  const ran = started.length;
  clock.stall(59_000);
  await clock.advance(0);
  assert.equal(reported.filter(({ outcome }) => outcome === 'missed').length, 0);
  assert.ok(started.length === ran + 1);
});

test('a monitor whose check is still under way misses its next', async () => {
  const { clock, started, reported, scheduler } = bench(130_000);
  scheduler.assign([httpMonitor('mon_a')], all);
  await clock.advance(200_000);
  assert.ok(reported.some(({ outcome, errorKind }) => outcome === 'missed' && errorKind === 'still_running'));
  for (const [at, each] of started.entries()) if (at > 0) assert.ok(each.at - started[at - 1]!.at >= 130_000);
});

test('five hundred checks at once, and the others in their turn', async () => {
  const { clock, started, reported, scheduler, most } = bench(5_000);
  scheduler.assign(
    Array.from({ length: 1_200 }, (_, at) => httpMonitor(`mon_${at}`, { timeoutMs: 10_000 })),
    all,
  );
  await clock.advance(20_000);
  assert.equal(most.atOnce, 500);
  assert.equal(new Set(started.map(({ id }) => id)).size, 1_200);
  assert.ok(reported.every(({ outcome }) => outcome === 'pass'));
});

test('one host gets ten checks a second, however many monitors name it; what finds no turn in its interval is missed', async () => {
  const { clock, started, reported, scheduler } = bench();
  const target = httpTarget('http://busy.example/');
  scheduler.assign(
    Array.from({ length: 900 }, (_, at) => httpMonitor(`mon_${at}`, { target: { ...target, url: `${target.url}${at}` } })),
    all,
  );
  await clock.advance(180_000);
  for (const [at, each] of started.entries())
    if (at > 0) assert.ok(each.at - started[at - 1]!.at >= 99.9, `${each.at - started[at - 1]!.at} ms apart`);
  assert.ok(started.length >= 1_750 && started.length <= 1_801, `${started.length} checks in three minutes`);
  const missed = reported.filter(({ outcome }) => outcome === 'missed');
  assert.ok(missed.length > 0 && missed.every(({ errorKind }) => errorKind === 'host_rate'), 'and says why');
  // Everybody gets a share.
  assert.ok(new Set(started.map(({ id }) => id)).size > 800);
});

test('the rate is counted by host and port: however busy one port is, the other gets all its checks', async () => {
  const { clock, reported, scheduler } = bench();
  const at = (id: string, url: string) => httpMonitor(id, { target: httpTarget(url) });
  const busy = Array.from({ length: 900 }, (_, n) => at(`mon_${n}`, `https://busy.example/${n}`));
  scheduler.assign([...busy, at('mon_other', 'https://busy.example:8443/')], all);
  await clock.advance(600_000);
  const of = (id: string) => reported.filter((r) => r.id === id).map((r) => r.outcome);
  assert.ok(of('mon_other').length >= 10 && of('mon_other').every((outcome) => outcome === 'pass'));
  assert.ok(reported.some(({ outcome }) => outcome === 'missed'));
  const places = ['https://busy.example/', 'https://BUSY.example:443/x', 'http://busy.example', 'https://busy.example:8443'];
  assert.deepEqual(
    places.map((url) => hostPortOf(at('mon_a', url))),
    ['busy.example:443', 'busy.example:443', 'busy.example:80', 'busy.example:8443'],
  );
});
