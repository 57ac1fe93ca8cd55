import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Assignment } from '../../../protocols/agent.ts';
import { makeScheduler } from '../schedule/scheduler.ts';
import { httpMonitor, httpTarget, manualClock } from './support.ts';

function bench() {
  const clock = manualClock();
  const made = new Map<string, number>();
  const missed = new Map<string, number>();
  const started: number[] = [];
  const scheduler = makeScheduler({
    clock,
    vantage: 'local',
    run: async () => {
      started.push(clock.now());
      return { outcome: 'pass' };
    },
    report: ({ id }, { outcome }) => {
      const counted = outcome === 'missed' ? missed : made;
      counted.set(id, (counted.get(id) ?? 0) + 1);
    },
  });
  return { clock, made, missed, started, scheduler };
}

const of = (tenant: string | undefined, count: number, intervalSeconds: number): Assignment[] =>
  Array.from({ length: count }, (_, n) =>
    httpMonitor(`mon_${tenant ?? 'none'}_${intervalSeconds}_${n}`, {
      ...(tenant && { tenant }),
      intervalSeconds,
      target: httpTarget(`https://shared.example/${tenant}/${n}`),
    }),
  );

test('an organization with thousands of monitors of a host keeps no check of another one from being made', async () => {
  const { clock, made, missed, started, scheduler } = bench();
  scheduler.assign([...of('a', 3_600, 300), ...of('b', 1, 60)], { removed: [], full: true });
  await clock.advance(900_000);
  const b = 'mon_b_60_0';
  assert.equal(missed.get(b), undefined);
  assert.ok(made.get(b)! >= 14, `${made.get(b)} checks in fifteen minutes`);
  assert.ok(missed.size > 100, 'whoever asks for more than there is goes without');
  assert.ok(
    started.every((at, n) => n === 0 || at - started[n - 1]! >= 99.9),
    'ten a second, for all of them together',
  );
  assert.ok(started.length > 8_900, 'and no turn is left unused while somebody waits');
});

test('within an organization, a long interval does not keep a short one from its checks', async () => {
  const { clock, made, scheduler } = bench();
  scheduler.assign([...of('a', 3_600, 300), ...of('a', 1, 60)], { removed: [], full: true });
  await clock.advance(900_000);
  assert.ok(made.get('mon_a_60_0')! >= 10, `${made.get('mon_a_60_0')} checks in fifteen minutes`);
});

test('assignments of a server of the release before, which names no tenant, are checked all the same', async () => {
  const { clock, made, missed, scheduler } = bench();
  scheduler.assign([...of(undefined, 100, 60), ...of('b', 1, 60)], { removed: [], full: true });
  await clock.advance(300_000);
  assert.equal(made.size, 101);
  assert.equal(missed.size, 0);
});

test('what is taken away while it waits takes no turn', async () => {
  const { clock, made, started, scheduler } = bench();
  const gone = of('a', 500, 300);
  scheduler.assign([...gone, ...of('b', 1, 60)], { removed: [], full: true });
  await clock.advance(2_000);
  scheduler.assign([], { removed: gone.map(({ id }) => id), full: false });
  const before = started.length;
  await clock.advance(120_000);
  assert.ok(started.length - before <= 3, 'the checks of the one that is left');
  assert.ok(made.get('mon_b_60_0')! >= 2);
});
