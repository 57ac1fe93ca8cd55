import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  advance,
  type EscalationState,
  minPassSeconds,
  neverWaits,
  type Policy,
  retryAfterSeconds,
  startEscalation,
} from '../../rules/escalation.ts';

const policies = fc
  .record({
    repeat: fc.integer({ min: 0, max: 9 }),
    waits: fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 86_400 })), { minLength: 1, maxLength: 20 }),
  })
  .map(
    ({ repeat, waits }): Policy => ({
      id: 'pol',
      name: 'policy',
      repeat,
      steps: waits.map((waitSeconds, i) => ({ target: { kind: 'user', id: `u${i}`, label: '' }, waitSeconds })),
    }),
  )
  .filter((p) => !neverWaits(p.repeat, p.steps));

interface Fired {
  pass: number;
  step: number;
  due: number;
  at: number;
  reached: boolean;
}

/** Walks to the end. `late` says how long after its time each step fires, `reaches` whether anybody is there. */
function walked(policy: Policy, late: (n: number) => number, reaches: (n: number) => boolean): { fired: Fired[]; end: EscalationState } {
  const fired: Fired[] = [];
  let walk = startEscalation(0);
  let clock = 0;
  for (let n = 0; walk.next; n++) {
    clock = Math.max(clock, walk.at + late(n));
    const reached = reaches(n);
    fired.push({ ...walk.next, due: walk.at, at: clock, reached });
    walk = advance(policy, walk, reached, clock);
  }
  return { fired, end: walk };
}

const chances = fc.infiniteStream(fc.boolean());
const delays = fc.infiniteStream(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_600_000 })));
const taking = <T>(stream: Stream<T>) => {
  const known: T[] = [];
  return (n: number): T => {
    while (known.length <= n) known.push(stream.next().value as T);
    return known[n]!;
  };
};
type Stream<T> = { next(): { value: T } };

test('every step of every pass fires once, in order, and never early, with any responders and any lateness', () => {
  fc.assert(
    fc.property(policies, chances, delays, (policy, reaches, late) => {
      const { fired, end } = walked(policy, taking(late as unknown as Stream<number>), taking(reaches as unknown as Stream<boolean>));
      const expected = Array.from({ length: policy.repeat + 1 }, (_, pass) => policy.steps.map((_, step) => `${pass}.${step}`)).flat();
      assert.deepEqual(
        fired.map((f) => `${f.pass}.${f.step}`),
        expected,
      );
      for (const f of fired) assert.ok(f.at >= f.due);
      for (let i = 1; i < fired.length; i++) assert.ok(fired[i]!.due >= fired[i - 1]!.due, 'the plan never goes back');
      assert.ok(end.at >= fired.at(-1)!.due);
    }),
    { numRuns: 500 },
  );
});

test('on time and with all responders reachable, each wait is kept to the second', () => {
  fc.assert(
    fc.property(policies, (policy) => {
      const { fired, end } = walked(
        policy,
        () => 0,
        () => true,
      );
      let at = 0;
      for (const f of fired) {
        assert.equal(f.at, at);
        at += policy.steps[f.step]!.waitSeconds * 1000;
      }
      assert.equal(end.at, at, 'the last wait is for the last one paged');
    }),
  );
});

test('a step without a responder costs no time, and a pass without waits does not repeat at once', () => {
  fc.assert(
    fc.property(policies, chances, (policy, reaches) => {
      const { fired } = walked(policy, () => 0, taking(reaches as unknown as Stream<boolean>));
      for (const [i, f] of fired.entries()) {
        const next = fired[i + 1];
        if (next?.pass === f.pass && !f.reached) assert.equal(next.at, f.at);
      }
      for (let pass = 0; pass < policy.repeat; pass++) {
        const here = fired.filter((f) => f.pass === pass);
        const waited = here.reduce((sum, f) => sum + (f.reached ? policy.steps[f.step]!.waitSeconds : 0), 0);
        const gap = fired.find((f) => f.pass === pass + 1)!.at - here[0]!.at;
        assert.ok(gap >= (waited || minPassSeconds) * 1000, `pass ${pass} took ${gap} ms`);
      }
    }),
  );
});

test('a downtime of any length causes at most one pass of pages', () => {
  fc.assert(
    fc.property(policies, fc.nat(1000), fc.integer({ min: 1, max: 10 ** 10 }), (policy, when, absence) => {
      const moments = new Map<number, number>();
      const last = when % ((policy.repeat + 1) * policy.steps.length);
      const { fired } = walked(
        policy,
        (n) => (n === last ? absence : 0),
        () => true,
      );
      for (const f of fired) moments.set(f.at, (moments.get(f.at) ?? 0) + 1);
      for (const [at, n] of moments) assert.ok(n < 2 * policy.steps.length, `${n} steps at ${at}`);
    }),
  );
});

test('a page is tried again after a growing pause of at most a minute, however often', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 100_000].map(retryAfterSeconds), [5, 15, 30, 60, 60, 60, 60]);
});
