import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { currentContext, makeByteBudget, makeFairSemaphore, makeLoopWatch, runFor, TenantThrottled } from '../index.ts';

test('one organization never has more than its slots, whoever waits is let in by turns, and within one in order', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns = makeFairSemaphore({ slots: 4, perOrg: 3 });
  const inside: string[] = [];
  const come = (org: string, name: string) => {
    const turn = turns.acquire(org);
    if (!turn) inside.push(name);
    return turn?.then(() => void inside.push(name));
  };
  const waits = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'].map((name) => come(name[0]!, name));
  assert.deepEqual(inside, ['a1', 'a2', 'a3', 'b1'], 'three of A, though a fourth slot was free');
  for (const org of ['a', 'a', 'a', 'b']) turns.release(org);
  await Promise.all(waits);
  assert.deepEqual(inside.slice(4), ['a4', 'b2', 'c1', 'a5'], 'A has its second turn after all others had one');
  for (const org of ['a', 'b', 'c', 'a']) turns.release(org);
  assert.deepEqual(turns.figures(), [], 'nothing is remembered of who has left');
});

test('who is urgent goes before what else of their organization waits, in order among themselves, and however many those are', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns = makeFairSemaphore({ slots: 2, perOrg: 1, maxWaitingPerOrg: 2 });
  const inside: string[] = [];
  const come = (org: string, name: string, isUrgent = false) => turns.acquire(org, false, isUrgent)?.then(() => void inside.push(name));
  assert.deepEqual([come('a', 'first'), come('b', 'other')], [undefined, undefined]);
  const waits = [come('a', 'a1'), come('a', 'a2'), come('b', 'b1'), come('a', 'urgent1', true), come('a', 'urgent2', true)];
  for (const org of ['a', 'b', 'a', 'a', 'a']) {
    turns.release(org);
    await new Promise(setImmediate);
  }
  await Promise.all(waits);
  assert.deepEqual(inside, ['urgent1', 'b1', 'urgent2', 'a1', 'a2']);
});

test('beside others who have had less an organization has fewer; who is aside neither makes it fewer nor has fewer', async () => {
  let clock = 0;
  const turns = makeFairSemaphore({ slots: 12, perOrg: 8, perOrgWhenContended: 3, now: () => clock });
  const insideOf = (org: string) => turns.figures().find((f) => f.org === org)?.inside ?? 0;
  const come = (org: string, many: number, isSystem = false) => Array.from({ length: many }, () => turns.acquire(org, isSystem));
  come('house', 9, true)[8]!.catch(() => {});
  come('a', 4);
  clock += 500;
  assert.deepEqual([insideOf('house'), insideOf('a')], [8, 4], 'alone');
  for (let i = 0; i < 4; i++) turns.release('house');
  for (let i = 0; i < 4; i++) turns.release('a');
  assert.equal(insideOf('house'), 5, 'as many as it may have');
  come('b', 1);
  clock += 10;
  const waits = come('a', 5);
  assert.deepEqual([insideOf('a'), insideOf('b')], [3, 1], 'A had four all the time');
  come('b', 3);
  assert.equal(insideOf('b'), 4, 'B had hardly any: it is not bounded');
  for (let i = 0; i < 4; i++) turns.release('b');
  clock += 1_001; // B has not come again
  turns.release('a');
  assert.equal(insideOf('a'), 4, 'all that wait come in');
  await Promise.all(waits);
  for (const { org, inside } of turns.figures()) for (let i = 0; i < inside; i++) turns.release(org);
  assert.deepEqual(turns.figures(), []);
});

test('who was quiet and comes with many at once beside others has one more than those who have had much', () => {
  let clock = 0;
  const turns = makeFairSemaphore({ slots: 12, perOrg: 8, perOrgWhenContended: 3, now: () => clock });
  const insideOf = (org: string) => turns.figures().find((f) => f.org === org)?.inside ?? 0;
  turns.acquire('b');
  clock += 50;
  turns.release('b');
  for (let i = 0; i < 8; i++) turns.acquire('a')?.catch(() => {});
  assert.equal(insideOf('a'), 4);
  assert.equal(turns.acquire('b'), undefined);
  for (const org of ['a', 'a', 'a', 'a', 'b']) turns.release(org);
  clock += 2_000; // nobody else is there any more
  assert.equal(turns.acquire('a'), undefined);
  assert.equal(insideOf('a'), 5, 'those who waited, and this one');
  for (let i = 0; i < 5; i++) turns.release('a');
  assert.deepEqual(turns.figures(), []);
});

test('whoever waits beside others comes in once they have gone, though nobody leaves', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let clock = 0;
  const turns = makeFairSemaphore({ slots: 12, perOrg: 8, perOrgWhenContended: 2, now: () => clock });
  for (let i = 0; i < 2; i++) assert.equal(turns.acquire('b'), undefined);
  clock += 900;
  assert.equal(turns.acquire('c'), undefined);
  turns.release('c');
  clock += 10;
  const waits = turns.acquire('b');
  assert.ok(waits, 'C was there a moment ago, and B has had two for long');
  for (let i = 0; i < 12; i++) {
    clock += 100;
    t.mock.timers.tick(100);
  }
  await waits;
  for (let i = 0; i < 3; i++) turns.release('b');
  assert.deepEqual(turns.figures(), []);
});

test('a wait has an end, and so has a queue', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns = makeFairSemaphore({ slots: 1, perOrg: 1, maxWaitingPerOrg: 2, waitMs: 1_000 });
  assert.equal(turns.acquire('a'), undefined);
  const first = turns.acquire('a')!;
  const second = turns.acquire('a')!;
  await assert.rejects(turns.acquire('a')!, TenantThrottled);
  const other = turns.acquire('b')!; // its own queue has room
  t.mock.timers.tick(1_000);
  await Promise.all([
    assert.rejects(first, TenantThrottled),
    assert.rejects(second, TenantThrottled),
    assert.rejects(other, TenantThrottled),
  ]);
  turns.release('a');
  assert.deepEqual(turns.figures(), []);
});

test('whatever comes and goes, slots and shares hold, and nobody waits while there is room', async () => {
  const step = fc.record({ org: fc.constantFrom('a', 'b', 'c'), comes: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
      const turns = makeFairSemaphore({ slots: 3, perOrg: 2 });
      for (const { org, comes } of steps) {
        if (comes) turns.acquire(org)?.catch(() => {});
        else if (turns.figures().some((f) => f.org === org && f.inside > 0)) turns.release(org);
        const figures = turns.figures();
        const all = figures.reduce((sum, f) => sum + f.inside, 0);
        assert.ok(all <= 3 && figures.every((f) => f.inside <= 2));
        assert.ok(all === 3 || figures.every((f) => f.waiting === 0 || f.inside === 2), JSON.stringify(figures));
      }
      // So that no timer outlives the property.
      for (let left = turns.figures(); left.length; left = turns.figures()) turns.release(left.find((f) => f.inside > 0)!.org);
    }),
  );
});

test('bytes are counted before they are kept, against each of their holders, and given back once', () => {
  const bodies = makeByteBudget({ total: 100, maxPerHolder: { org: 60, credential: 40, address: 10 } }); // all of them small: the last eighth is theirs too;
  const first = bodies.open({ org: 'a', credential: 'k1' });
  assert.equal(first.reserve(40), true);
  assert.equal(first.reserve(1), false, 'the credential has its share');
  const second = bodies.open({ org: 'a', credential: 'k2' });
  assert.equal(second.reserve(21), false, 'the organization would have more than its share');
  assert.equal(second.reserve(20), true);
  assert.equal(bodies.open({ org: 'b', credential: 'k3' }).reserve(40), true);
  assert.equal(bodies.open({ address: 'somewhere' }).reserve(1), false, 'all of it is taken');
  first.release();
  first.release();
  assert.equal(first.reserve(1), false, 'over is over');
  assert.deepEqual(bodies.figures(), {
    total: 60,
    orgs: [
      { org: 'a', bytes: 20 },
      { org: 'b', bytes: 40 },
    ],
  });
  assert.equal(bodies.open({ address: 'somewhere' }).reserve(11), false);
  assert.equal(bodies.open({ address: 'somewhere' }).reserve(10), true);
});

test('large bodies leave the last eighth of the memory to small ones', () => {
  const mebibyte = 2 ** 20;
  const bodies = makeByteBudget({ total: 8 * mebibyte, maxPerHolder: { org: 4 * mebibyte, credential: 4 * mebibyte, address: mebibyte } });
  assert.equal(bodies.open({ org: 'a' }).reserve(4 * mebibyte), true);
  assert.equal(bodies.open({ org: 'b' }).reserve(3 * mebibyte), true);
  assert.equal(bodies.open({ org: 'c' }).reserve(65_537), false);
  assert.equal(bodies.open({ org: 'c' }).reserve(65_536), true);
});

test('whatever is begun for somebody counts for them, also after it has waited', async () => {
  const seen: string[] = [];
  let resumeA = () => {};
  const work = (org: string, wait: (done: () => void) => void) =>
    runFor({ org, operation: 'x' }, async () => {
      await new Promise<void>(wait);
      seen.push(`${org}=${currentContext().org}`);
      resumeA();
    });
  const a = work('a', (done) => {
    resumeA = done; // B resumes A, so the order hangs on no timer
  });
  await Promise.all([a, work('b', (done) => void setTimeout(done, 1))]);
  assert.deepEqual(seen, ['b=b', 'a=a']);
  assert.equal(currentContext().org, '');
});

test('who holds the event loop is named with the time it took, and nobody else', async () => {
  let clock = 0;
  const watch = makeLoopWatch(undefined, () => clock);
  watch.resume({ org: 'a', operation: 'quick' });
  clock += 5;
  watch.resume({ org: 'a', operation: 'slow' });
  clock += 70;
  watch.resume({ org: 'a', operation: 'quick' });
  clock += 5;
  await new Promise((resolve) => setImmediate(resolve));
  clock += 10_000; // nobody runs: the process sleeps
  watch.resume({ org: 'a', operation: 'quick' });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(watch.figures(), [{ act: 'slow', count: 1, seconds: 0.07, longest: 0.07 }]);
});
