import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { applyResults, type WatchedMonitor } from '../../rules/apply-results.ts';
import {
  applyTransition,
  type MonitorStatus,
  nextTimestamp,
  noVantageState,
  rejudge,
  type Transition,
  type VantageState,
} from '../../rules/down.ts';
import { Model } from './down-model.ts';

const names = ['a', 'b', 'c', 'd', 'e'];

const step = (vantages: number) =>
  fc.oneof(
    {
      weight: 20,
      arbitrary: fc.record({
        is: fc.constant('report' as const),
        vantage: fc.nat({ max: vantages - 1 }),
        // Fails more often than it passes: outages are what is looked at.
        results: fc.array(
          fc.record({
            outcome: fc.constantFrom('pass', 'pass', 'fail', 'error', 'error', 'missed'),
            age: fc.oneof({ weight: 8, arbitrary: fc.nat({ max: 30 }) }, { weight: 1, arbitrary: fc.nat({ max: 400 }) }),
          }),
          { minLength: 1, maxLength: 4 },
        ),
        degraded: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
        otherEpoch: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      }),
    },
    { weight: 8, arbitrary: fc.record({ is: fc.constant('wait' as const), seconds: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 300 })) }) },
    { weight: 1, arbitrary: fc.record({ is: fc.constant('clock' as const), seconds: fc.integer({ min: -7_200, max: 7_200 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        is: fc.constant('edit' as const),
        confirmations: fc.integer({ min: 1, max: 4 }),
        quorum: fc.integer({ min: 1, max: vantages }),
        interval: fc.constantFrom(30, 60, 120),
      }),
    },
    { weight: 1, arbitrary: fc.record({ is: fc.constantFrom('start over' as const, 'pause' as const, 'restart' as const) }) },
  );

const story = fc.integer({ min: 1, max: 5 }).chain((vantages) =>
  fc.record({
    vantages: fc.constant(names.slice(0, vantages)),
    confirmations: fc.integer({ min: 1, max: 3 }),
    quorum: fc.integer({ min: 1, max: vantages }),
    interval: fc.constantFrom(30, 60),
    steps: fc.array(step(vantages), { minLength: 1, maxLength: 60 }),
  }),
);

/** The rule as the engine uses it: one thing after the other, everything between two steps kept as rows are. */
class Subject {
  monitor: WatchedMonitor;
  standing: MonitorStatus;
  opinions = new Map<string, VantageState>();
  transitions: Transition[] = [];
  failures: { vantage: string; attempt: number }[] = [];

  constructor(monitor: WatchedMonitor, now: number) {
    this.monitor = monitor;
    this.standing = { state: 'pending', since: now, beganAt: now, failingSince: undefined };
  }

  report(
    vantage: string,
    results: { outcome: 'pass' | 'fail' | 'error' | 'missed'; at: number; epoch: number; degraded: boolean }[],
    now: number,
  ) {
    const taken = applyResults(this.monitor, this.standing, this.opinions, vantage, results, now);
    this.standing = taken.status;
    this.opinions.set(vantage, taken.vantageState);
    this.transitions.push(...taken.transitions);
    this.failures.push(...taken.failures.map(({ attempt }) => ({ vantage, attempt })));
  }

  pending(now: number) {
    const at = nextTimestamp(this.standing.since, now);
    if (this.standing.state !== 'pending') {
      const t: Transition = { at, from: this.standing.state, to: 'pending', failingVantages: [], since: at };
      this.transitions.push(t);
      this.standing = applyTransition(this.standing, t);
    }
    this.standing = { ...this.standing, beganAt: now };
  }

  rejudge(now: number) {
    const judged = rejudge(this.standing, this.monitor, this.opinions, now);
    this.opinions = judged.opinions;
    this.transitions.push(...judged.transitions);
    this.standing = judged.standing;
  }

  restart() {
    this.standing = structuredClone(this.standing);
    this.opinions = new Map([...this.opinions].map(([k, o]) => [k, { ...noVantageState, ...structuredClone(o) }]));
  }
}

test('the down rule says what the model says, whatever is reported, late, lost, edited or restarted', () => {
  let seen = 0;
  fc.assert(
    fc.property(story, ({ steps, ...settings }) => {
      let now = 1_800_000_000;
      const model = new Model({ ...settings, timeout: 10 }, now);
      const subject = new Subject(
        {
          vantages: settings.vantages,
          confirmations: settings.confirmations,
          quorum: settings.quorum,
          intervalMs: settings.interval * 1000,
          timeoutMs: 10_000,
          enabled: true,
          epoch: 1,
        },
        now * 1000,
      );
      for (const s of steps) {
        if (s.is === 'wait' || s.is === 'clock') now += s.seconds;
        if (s.is === 'report') {
          const vantage = settings.vantages[s.vantage]!;
          const epoch = s.otherEpoch ? model.epoch + 1 : model.epoch;
          const results = s.results.map((r) => ({ ...r, at: now - r.age })).sort((x, y) => x.at - y.at);
          for (const { outcome, at } of results) model.report(vantage, outcome, at, now, { epoch, degraded: s.degraded });
          subject.report(
            vantage,
            results.map(({ outcome, at }) => ({ outcome: outcome as 'pass', at: at * 1000, epoch, degraded: s.degraded })),
            now * 1000,
          );
        }
        if (s.is === 'edit') {
          const { confirmations, quorum, interval } = s;
          model.edit({ confirmations, quorum, interval }, now);
          subject.monitor = { ...subject.monitor, confirmations, quorum, intervalMs: interval * 1000 };
          if (model.enabled) subject.rejudge(now * 1000);
        }
        if (s.is === 'start over') {
          model.startOver(now);
          subject.monitor = { ...subject.monitor, epoch: model.epoch, enabled: true };
          subject.opinions.clear();
          subject.pending(now * 1000);
        }
        if (s.is === 'pause') {
          model.enabled = false;
          model.stop(now);
          subject.monitor = { ...subject.monitor, enabled: false };
          subject.pending(now * 1000);
        }
        if (s.is === 'restart') subject.restart();

        assert.equal(subject.standing.state, model.state);
        assert.deepEqual(
          subject.transitions.map((t) => ({ at: t.at, from: t.from, to: t.to, failing: t.failingVantages })),
          model.transitions.map((t) => ({ ...t, at: Math.round(t.at * 1000) })),
        );
        assert.deepEqual(subject.failures, model.failures);
        for (const t of subject.transitions) assert.ok(t.since <= t.at, 'an outage begins before it is confirmed');
      }
      for (const [i, t] of subject.transitions.entries())
        if (i > 0) {
          assert.equal(t.from, subject.transitions[i - 1]!.to);
          assert.ok(t.since >= subject.transitions[i - 1]!.at, 'no two states at one time');
        }
      seen += subject.transitions.filter((t) => t.to === 'down').length;
    }),
    { numRuns: 3_000 },
  );
  assert.ok(seen > 500, `only ${seen} outages were looked at`);
});
