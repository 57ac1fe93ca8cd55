import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { runYielding } from '../../yielding.ts';
import { batchContext, type LoopLoad, makeLoopThrottle, makeLoopWatch, runFor, systemContext, watchLoop } from '../index.ts';

const always: LoopLoad = { isBusy: () => true, weigh: (ms) => ms };

/** A share whose clock and timers are moved by the test. */
function scene(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let clock = 0;
  const loop = { isBusy: true };
  const share = makeLoopThrottle(() => clock, { ...always, isBusy: () => loop.isBusy });
  const gone: string[] = [];
  return {
    share,
    loop,
    gone,
    /** Somebody wants a turn, and takes so long once they have it. */
    want: (org: string, name: string, ms = 0) => {
      const go = () => {
        gone.push(name);
        share.charge(org, ms);
      };
      const rest = share.delay(org);
      if (rest) void rest.then(go);
      else go();
    },
    /** Time passes, in which somebody keeps asking for next to nothing, or nobody does. */
    pass: async (ms: number, wanting?: string) => {
      for (let i = 0; i < ms; i++) {
        clock++;
        if (wanting) share.charge(wanting, 0);
        t.mock.timers.tick(1);
        for (let turn = 0; turn < 3; turn++) await setImmediate();
      }
    },
  };
}

test('alone nobody rests, whatever they take', (t) => {
  const { share, want, gone } = scene(t);
  share.charge('a', 10_000);
  for (let i = 0; i < 10; i++) want('a', `${i}`, 1_000);
  assert.equal(gone.length, 10);
});

test('whoever has had more than half for a while rests while others want the loop, in the order in which they came; the others do not', async (t) => {
  const { share, want, gone, pass } = scene(t);
  share.charge('b', 1);
  share.charge('a', 101); // a bucket full, of which fifty count from now on
  for (const name of ['first', 'second', 'third']) want('a', name, 9);
  want('b', 'b', 1);
  assert.deepEqual(gone, ['b']);
  assert.deepEqual(share.figures().resting, [{ org: 'a', waiting: 3 }]);
  await pass(270, 'b');
  assert.deepEqual(gone, ['b'], 'of each hundred milliseconds fifteen run out, down to eight');
  await pass(15, 'b');
  assert.deepEqual(gone, ['b', 'first']);
  await pass(45, 'b');
  assert.deepEqual(gone, ['b', 'first'], 'what the first took is known before the second goes');
  await pass(100, 'b');
  assert.deepEqual(gone, ['b', 'first', 'second', 'third']);
  assert.deepEqual(share.figures().resting, []);
});

test('whoever wants less than half of the loop never rests, however busy others keep it', async (t) => {
  const { share, want, gone, pass } = scene(t);
  for (let i = 0; i < 20; i++) {
    share.charge('a', 60); // it is heavy from the second time on
    want('b', `${i}`, 40);
    await pass(100);
  }
  assert.equal(gone.length, 20);
});

test('whoever was heavy and wants little again has as much at once as everybody', async (t) => {
  const { share, want, gone, pass } = scene(t);
  share.charge('a', 101);
  want('a', 'alone', 1);
  await pass(400);
  share.charge('b', 1);
  want('a', 'again', 50);
  want('a', 'and again', 1);
  assert.deepEqual(gone, ['alone', 'again', 'and again']);
});

test('whoever was heavy for a moment and wants less than their part does not rest for ever', async (t) => {
  const { share, want, pass } = scene(t);
  share.charge('a', 101);
  for (let i = 0; i < 1_500; i++) {
    share.charge('b', 4); // of ten milliseconds
    want('a', `${i}`, 1.8);
    await pass(10);
  }
  assert.deepEqual(share.figures().resting, []);
});

test('where several want much, each has less before it rests: together they cannot have all of it', async (t) => {
  const { share, want, pass } = scene(t);
  const isResting = () => share.figures().resting.length > 0;
  for (let i = 0; i < 300 && !isResting(); i++) {
    for (const org of ['a', 'b', 'c']) want(org, org, 3.2); // none of them half
    await pass(10, 'd');
  }
  assert.ok(isResting());
});

test('of two who are heavy, the one that has had less goes on: the loop is never idle for their sake', (t) => {
  const { share, want, gone } = scene(t);
  share.charge('a', 101);
  share.charge('b', 101);
  share.charge('a', 50);
  share.charge('b', 0);
  want('b', 'b', 0);
  assert.deepEqual(gone, ['b']);
});

test('nobody rests for the sake of a heavy one that has more waiting', async (t) => {
  const { share, want, gone, pass } = scene(t);
  share.charge('c', 1);
  share.charge('a', 101);
  for (let i = 0; i < 5; i++) want('a', `${i}`, 9);
  assert.deepEqual(gone, []);
  await pass(100, 'c'); // until a has less left than who comes now
  share.charge('b', 101);
  await pass(51); // c is quiet by now
  share.charge('a', 0);
  want('b', 'b', 50);
  assert.deepEqual(
    gone.filter((name) => name === 'b'),
    ['b'],
  );
});

test('nobody rests while the loop is idle for much of the time: a trickle of somebody else costs nobody anything', async (t) => {
  const { share, loop, want, gone, pass } = scene(t);
  loop.isBusy = false;
  share.charge('a', 101);
  share.charge('b', 1);
  want('a', 'first', 40);
  assert.deepEqual(gone, ['first']);
  loop.isBusy = true;
  want('a', 'second');
  await pass(60, 'b');
  assert.deepEqual(gone, ['first']);
  loop.isBusy = false;
  await pass(50, 'b');
  assert.deepEqual(gone, ['first', 'second']);
});

test('what somebody did while they were alone costs them a moment of rest, no more', async (t) => {
  const { share, want, gone, pass } = scene(t);
  for (let i = 0; i < 100; i++) share.charge('a', 100);
  share.charge('b', 1);
  want('a', 'a');
  assert.deepEqual(gone, []);
  await pass(285, 'b');
  assert.deepEqual(gone, ['a']);
});

test('once the others are quiet, all who rest go on', async (t) => {
  const { share, want, gone, pass } = scene(t);
  share.charge('b', 1);
  share.charge('a', 101);
  for (let i = 0; i < 100; i++) want('a', `${i}`, 40);
  await pass(1_500, 'b');
  assert.ok(gone.length > 3 && gone.length < 10, `${gone.length} of a hundred had a turn`);
  await pass(200);
  assert.equal(gone.length, 100);
});

test('once one has rested for five seconds its organization has its whole part; whoever has for ten goes on in the next turn', async (t) => {
  const { share, want, gone, pass } = scene(t);
  share.charge('a', 101);
  share.charge('b', 1);
  for (let i = 0; i < 200; i++) want('a', `${i}`, 40);
  await pass(4_900, 'b');
  assert.ok(gone.length < 50, `${gone.length} had a turn`);
  const before = gone.length;
  await pass(1_000, 'b');
  const more = gone.length - before;
  assert.ok(more >= 10 && more <= 15, `${more} of 40 ms had a turn within a second`);
  await pass(4_000, 'b');
  assert.ok(gone.length < 110, `${gone.length} had a turn`);
  await pass(200, 'b');
  assert.equal(gone.length, 200);
});

test('the house and strangers neither rest nor make others rest', async () => {
  const watch = makeLoopWatch(undefined, undefined, always);
  watch.resume(systemContext);
  watch.throttle.charge('a', 101);
  assert.equal(watch.takeTurn({ org: 'a', operation: 'x' }), undefined, 'nobody else is there');
  watch.throttle.charge('b', 30);
  assert.equal(watch.takeTurn(systemContext), undefined);
  assert.equal(watch.takeTurn({ org: 'from 192.0.2.1', operation: 'http', isSystem: true }), undefined);
  const rest = runFor({ org: 'a', operation: 'x' }, () => watch.takeTurn());
  assert.ok(rest, 'whoever is current is meant');
  await rest;
});

test('what pieces of work take is what their organization has spent', async () => {
  let clock = 0;
  const watch = makeLoopWatch(undefined, () => clock, always);
  watch.resume({ org: 'b', operation: 'y' });
  clock += 1;
  watch.resume({ org: 'a', operation: 'x' });
  clock += 101;
  watch.resume(systemContext);
  clock += 400;
  assert.equal(watch.takeTurn({ org: 'b', operation: 'y' }), undefined, 'the house’s time is not the one’s before it');
  assert.ok(watch.takeTurn({ org: 'a', operation: 'x' }) === undefined, 'fifty milliseconds have run out by then');
  clock += 101;
  watch.resume({ org: 'b', operation: 'y' });
  clock += 1;
  watch.resume(systemContext);
  const rest = watch.takeTurn({ org: 'a', operation: 'x' });
  assert.ok(rest);
  clock += 1_001;
  await rest;
});

test('a batch rests for nobody, and the time that it takes is theirs whose things are in it, as many as they are', async () => {
  let clock = 0;
  const watch = makeLoopWatch(undefined, () => clock, always);
  const batch = batchContext('some act', ['a', 'a', 'b', 'a', '']);
  watch.resume(batch);
  clock += 175;
  assert.equal(watch.takeTurn(batch), undefined);
  clock += 1;
  watch.resume(systemContext);
  assert.equal(watch.takeTurn({ org: 'b', operation: 'y' }), undefined, 'a fifth of it');
  const rest = watch.takeTurn({ org: 'a', operation: 'x' });
  assert.ok(rest, 'three fifths of it');
  assert.deepEqual(watch.throttle.figures().resting, [{ org: 'a', waiting: 1 }]);
  clock += 1_001;
  await rest;
});

const hold = (ms: number) => {
  for (const until = performance.now() + ms; performance.now() < until; );
};
const soon = () => new Promise((resolve) => setTimeout(resolve, 5));

test('what others do in the same turn of the loop, of which nobody says whose it is, is not held against whoever had a piece before', async () => {
  const watch = makeLoopWatch(undefined, undefined, always);
  await new Promise<void>((resolve) => {
    setTimeout(() => runFor({ org: 'b', operation: 'x' }, () => hold(1), watch), 5);
    setTimeout(hold, 5, 60); // a request that arrives, a body, a stream
    setTimeout(resolve, 5);
  });
  await setImmediate();
  watch.throttle.charge('c', 1);
  assert.equal(watch.takeTurn({ org: 'b', operation: 'x' }), undefined);
});

test('a piece goes on after promises that are settled already, and ends before the next callback', async () => {
  const watch = makeLoopWatch(undefined, undefined, always);
  await new Promise<void>((resolve) => {
    setTimeout(
      () =>
        runFor(
          { org: 'a', operation: 'x' },
          async () => {
            for (let i = 0; i < 6; i++) {
              hold(20);
              await undefined;
            }
          },
          watch,
        ),
      5,
    );
    setTimeout(resolve, 5);
  });
  watch.throttle.charge('c', 1);
  const rest = watch.takeTurn({ org: 'a', operation: 'x' });
  assert.ok(rest);
  await rest;
});

test('work in slices, and what comes after a turn was waited for, counts for whom it is done and for nobody else', async () => {
  const watch = makeLoopWatch(undefined, undefined, always);
  watch.throttle.charge('c', 1);
  let isOver = false;
  const slices = runFor(
    { org: 'a', operation: 'x' },
    () =>
      runYielding(
        (function* () {
          for (let i = 0; i < 60; i++) {
            hold(5);
            yield;
          }
        })(),
      ),
    watch,
  ).finally(() => (isOver = true));
  while (!isOver) {
    await soon();
    runFor({ org: 'b', operation: 'y' }, () => {}, watch);
  }
  await slices;
  assert.equal(watch.takeTurn({ org: 'b', operation: 'y' }), undefined, 'who did next to nothing does not rest');
  const rest = watch.takeTurn({ org: 'a', operation: 'x' });
  assert.ok(rest, 'who had all of it does');
  await rest;
});

test('so many rest and no more: for each that comes then, the one that rested longest goes on at once', async (t) => {
  const { share, gone, want, pass } = scene(t);
  want('a', 'first', 101);
  share.charge('b', 0);
  for (let i = 0; i < 2_100; i++) want('a', String(i));
  await Promise.resolve();
  assert.deepEqual(gone, ['first', ...Array.from({ length: 100 }, (_, i) => String(i))], 'nobody overtakes those who rest');
  assert.deepEqual(share.figures().resting, [{ org: 'a', waiting: 2_000 }]);
  await pass(1_000);
  assert.equal(gone.length, 2_101);
});

test('time that nobody is known to have taken is counted with what is known, in proportion', async () => {
  const load = watchLoop();
  const weighs: number[] = [];
  for (let i = 0; i < 60; i++) {
    hold(10);
    weighs.push(load.weigh(5)); // half of it was somebody's
    await setImmediate();
  }
  const last = weighs.at(-1)!;
  assert.ok(last > 6 && last <= 10, `5 ms count ${last}`);
  assert.equal(watchLoop().weigh(5), 5, 'until something else is known');
});
