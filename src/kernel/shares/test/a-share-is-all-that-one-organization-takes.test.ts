import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Crowded, currentBehalf, makeByteBudget, makeLoopWatch, makeTurnstile, onBehalf } from '../index.ts';

test('one organization never has more than its slots, whoever waits is let in by turns, and within one in order', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns = makeTurnstile({ slots: 4, perOrg: 3 });
  const inside: string[] = [];
  const come = (org: string, name: string) => {
    const turn = turns.enter(org);
    if (!turn) inside.push(name);
    return turn?.then(() => void inside.push(name));
  };
  const waits = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'].map((name) => come(name[0]!, name));
  assert.deepEqual(inside, ['a1', 'a2', 'a3', 'b1'], 'three of A, though a fourth slot was free');
  for (const org of ['a', 'a', 'a', 'b']) turns.leave(org);
  await Promise.all(waits);
  assert.deepEqual(inside.slice(4), ['a4', 'b2', 'c1', 'a5'], 'A has its second turn after all others had one');
  for (const org of ['a', 'b', 'c', 'a']) turns.leave(org);
  assert.deepEqual(turns.figures(), [], 'nothing is remembered of who has left');
});

test('who is urgent goes before what else of their organization waits, in order among themselves, and however many those are', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns = makeTurnstile({ slots: 2, perOrg: 1, mostWaiting: 2 });
  const inside: string[] = [];
  const come = (org: string, name: string, isUrgent = false) => turns.enter(org, false, isUrgent)?.then(() => void inside.push(name));
  assert.deepEqual([come('a', 'first'), come('b', 'other')], [undefined, undefined]);
  const waits = [come('a', 'a1'), come('a', 'a2'), come('b', 'b1'), come('a', 'urgent1', true), come('a', 'urgent2', true)];
  for (const org of ['a', 'b', 'a', 'a', 'a']) {
    turns.leave(org);
    await new Promise(setImmediate);
  }
  await Promise.all(waits);
  assert.deepEqual(inside, ['urgent1', 'b1', 'urgent2', 'a1', 'a2']);
});

test('beside others who have had less an organization has fewer; who is aside neither makes it fewer nor has fewer', async () => {
  let clock = 0;
  const turns = makeTurnstile({ slots: 12, perOrg: 8, besides: 3, now: () => clock });
  const insideOf = (org: string) => turns.figures().find((f) => f.org === org)?.inside ?? 0;
  const come = (org: string, many: number, isAside = false) => Array.from({ length: many }, () => turns.enter(org, isAside));
  come('house', 9, true)[8]!.catch(() => {});
  come('a', 4);
  clock += 500;
  assert.deepEqual([insideOf('house'), insideOf('a')], [8, 4], 'alone');
  for (let i = 0; i < 4; i++) turns.leave('house');
  for (let i = 0; i < 4; i++) turns.leave('a');
  assert.equal(insideOf('house'), 5, 'as many as it may have');
  come('b', 1);
  clock += 10;
  const waits = come('a', 5);
  assert.deepEqual([insideOf('a'), insideOf('b')], [3, 1], 'A had four all the time');
  come('b', 3);
  assert.equal(insideOf('b'), 4, 'B had hardly any: it is not bounded');
  for (let i = 0; i < 4; i++) turns.leave('b');
  clock += 1_001; // B has not come again
  turns.leave('a');
  assert.equal(insideOf('a'), 4, 'all that wait come in');
  await Promise.all(waits);
  for (const { org, inside } of turns.figures()) for (let i = 0; i < inside; i++) turns.leave(org);
  assert.deepEqual(turns.figures(), []);
});

test('who was quiet and comes with many at once beside others has one more than those who have had much', () => {
  let clock = 0;
  const turns = makeTurnstile({ slots: 12, perOrg: 8, besides: 3, now: () => clock });
  const insideOf = (org: string) => turns.figures().find((f) => f.org === org)?.inside ?? 0;
  turns.enter('b');
  clock += 50;
  turns.leave('b');
  for (let i = 0; i < 8; i++) turns.enter('a')?.catch(() => {});
  assert.equal(insideOf('a'), 4);
  assert.equal(turns.enter('b'), undefined);
  for (const org of ['a', 'a', 'a', 'a', 'b']) turns.leave(org);
  clock += 2_000; // nobody else is there any more
  assert.equal(turns.enter('a'), undefined);
  assert.equal(insideOf('a'), 5, 'those who waited, and this one');
  for (let i = 0; i < 5; i++) turns.leave('a');
  assert.deepEqual(turns.figures(), []);
});

test('whoever waits beside others comes in once they have gone, though nobody leaves', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let clock = 0;
  const turns = makeTurnstile({ slots: 12, perOrg: 8, besides: 2, now: () => clock });
  for (let i = 0; i < 2; i++) assert.equal(turns.enter('b'), undefined);
  clock += 900;
  assert.equal(turns.enter('c'), undefined);
  turns.leave('c');
  clock += 10;
  const waits = turns.enter('b');
  assert.ok(waits, 'C was there a moment ago, and B has had two for long');
  for (let i = 0; i < 12; i++) {
    clock += 100;
    t.mock.timers.tick(100);
  }
  await waits;
  for (let i = 0; i < 3; i++) turns.leave('b');
  assert.deepEqual(turns.figures(), []);
});

test('a wait has an end, and so has a queue', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns = makeTurnstile({ slots: 1, perOrg: 1, mostWaiting: 2, waitMs: 1_000 });
  assert.equal(turns.enter('a'), undefined);
  const first = turns.enter('a')!;
  const second = turns.enter('a')!;
  await assert.rejects(turns.enter('a')!, Crowded);
  const other = turns.enter('b')!; // its own queue has room
  t.mock.timers.tick(1_000);
  await Promise.all([assert.rejects(first, Crowded), assert.rejects(second, Crowded), assert.rejects(other, Crowded)]);
  turns.leave('a');
  assert.deepEqual(turns.figures(), []);
});

test('whatever comes and goes, slots and shares hold, and nobody waits while there is room', async () => {
  const step = fc.record({ org: fc.constantFrom('a', 'b', 'c'), comes: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
      const turns = makeTurnstile({ slots: 3, perOrg: 2 });
      for (const { org, comes } of steps) {
        if (comes) turns.enter(org)?.catch(() => {});
        else if (turns.figures().some((f) => f.org === org && f.inside > 0)) turns.leave(org);
        const figures = turns.figures();
        const all = figures.reduce((sum, f) => sum + f.inside, 0);
        assert.ok(all <= 3 && figures.every((f) => f.inside <= 2));
        assert.ok(all === 3 || figures.every((f) => f.waiting === 0 || f.inside === 2), JSON.stringify(figures));
      }
      // So that no timer outlives the property.
      for (let left = turns.figures(); left.length; left = turns.figures()) turns.leave(left.find((f) => f.inside > 0)!.org);
    }),
  );
});

test('bytes are counted before they are kept, against each of their holders, and given back once', () => {
  const bodies = makeByteBudget({ total: 100, most: { org: 60, credential: 40, address: 10 } }); // all of them small: the last eighth is theirs too;
  const first = bodies.open({ org: 'a', credential: 'k1' });
  assert.equal(first.take(40), true);
  assert.equal(first.take(1), false, 'the credential has its share');
  const second = bodies.open({ org: 'a', credential: 'k2' });
  assert.equal(second.take(21), false, 'the organization would have more than its share');
  assert.equal(second.take(20), true);
  assert.equal(bodies.open({ org: 'b', credential: 'k3' }).take(40), true);
  assert.equal(bodies.open({ address: 'somewhere' }).take(1), false, 'all of it is taken');
  first.end();
  first.end();
  assert.equal(first.take(1), false, 'over is over');
  assert.deepEqual(bodies.figures(), {
    total: 60,
    orgs: [
      { org: 'a', bytes: 20 },
      { org: 'b', bytes: 40 },
    ],
  });
  assert.equal(bodies.open({ address: 'somewhere' }).take(11), false);
  assert.equal(bodies.open({ address: 'somewhere' }).take(10), true);
});

test('large bodies leave the last eighth of the memory to small ones', () => {
  const mebibyte = 2 ** 20;
  const bodies = makeByteBudget({ total: 8 * mebibyte, most: { org: 4 * mebibyte, credential: 4 * mebibyte, address: mebibyte } });
  assert.equal(bodies.open({ org: 'a' }).take(4 * mebibyte), true);
  assert.equal(bodies.open({ org: 'b' }).take(3 * mebibyte), true);
  assert.equal(bodies.open({ org: 'c' }).take(65_537), false);
  assert.equal(bodies.open({ org: 'c' }).take(65_536), true);
});

test('whatever is begun for somebody counts for them, also after it has waited', async () => {
  const seen: string[] = [];
  let resumeA = () => {};
  const work = (org: string, wait: (done: () => void) => void) =>
    onBehalf({ org, act: 'x' }, async () => {
      await new Promise<void>(wait);
      seen.push(`${org}=${currentBehalf().org}`);
      resumeA();
    });
  const a = work('a', (done) => {
    resumeA = done; // B resumes A, so the order hangs on no timer
  });
  await Promise.all([a, work('b', (done) => void setTimeout(done, 1))]);
  assert.deepEqual(seen, ['b=b', 'a=a']);
  assert.equal(currentBehalf().org, '');
});

test('who holds the event loop is named with the time it took, and nobody else', async () => {
  let clock = 0;
  const watch = makeLoopWatch(undefined, () => clock);
  watch.resume({ org: 'a', act: 'quick' });
  clock += 5;
  watch.resume({ org: 'a', act: 'slow' });
  clock += 70;
  watch.resume({ org: 'a', act: 'quick' });
  clock += 5;
  await new Promise((resolve) => setImmediate(resolve));
  clock += 10_000; // nobody runs: the process sleeps
  watch.resume({ org: 'a', act: 'quick' });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(watch.figures(), [{ act: 'slow', count: 1, seconds: 0.07, longest: 0.07 }]);
});
