import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { inSlices } from '../../slices.ts';
import { house, type LoopLoad, makeLoopShare, makeLoopWatch, onBehalf, watchLoop } from '../index.ts';

const always: LoopLoad = { isBusy: () => true, weigh: (ms) => ms };

/** A share whose clock and timers are moved by the test. */
function scene(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let clock = 0;
  const loop = { isBusy: true };
  const share = makeLoopShare(() => clock, { ...always, isBusy: () => loop.isBusy });
  const gone: string[] = [];
  return {
    share,
    loop,
    gone,
    /** Somebody wants a turn, and takes so long once they have it. */
    want: (org: string, name: string, ms = 0) => {
      const go = () => {
        gone.push(name);
        share.spend(org, ms);
      };
      const rest = share.rest(org);
      if (rest) void rest.then(go);
      else go();
    },
    /** Time passes, in which somebody keeps asking for next to nothing, or nobody does. */
    pass: async (ms: number, wanting?: string) => {
      for (let i = 0; i < ms; i++) {
        clock++;
        if (wanting) share.spend(wanting, 0);
        t.mock.timers.tick(1);
        for (let turn = 0; turn < 3; turn++) await setImmediate();
      }
    },
  };
}

test('alone nobody rests, whatever they take', (t) => {
  const { share, want, gone } = scene(t);
  share.spend('a', 10_000);
  for (let i = 0; i < 10; i++) want('a', `${i}`, 1_000);
  assert.equal(gone.length, 10);
});

test('whoever has had much rests while others want the loop, in the order in which they came; the others do not', async (t) => {
  const { share, want, gone, pass } = scene(t);
  share.spend('b', 1);
  share.spend('a', 18); // ten more than may be had at once
  for (const name of ['first', 'second', 'third']) want('a', name, 10);
  want('b', 'b', 1);
  assert.deepEqual(gone, ['b']);
  assert.deepEqual(share.figures().resting, [{ org: 'a', waiting: 3 }]);
  await pass(39, 'b');
  assert.deepEqual(gone, ['b'], 'ten milliseconds too many are forty of rest');
  await pass(3, 'b');
  assert.deepEqual(gone, ['b', 'first']);
  await pass(30, 'b');
  assert.deepEqual(gone, ['b', 'first'], 'what the first took is known before the second goes');
  await pass(100, 'b');
  assert.deepEqual(gone, ['b', 'first', 'second', 'third']);
  assert.deepEqual(share.figures().resting, []);
});

test('of two who want much, the one that has had less goes on: the loop is never idle for their sake', (t) => {
  const { share, want, gone } = scene(t);
  share.spend('a', 40);
  share.spend('b', 30);
  want('a', 'a');
  want('b', 'b');
  assert.deepEqual(gone, ['b']);
});

test('nobody rests while the loop is idle for much of the time: a trickle of somebody else costs nobody anything', async (t) => {
  const { share, loop, want, gone, pass } = scene(t);
  loop.isBusy = false;
  share.spend('a', 50);
  share.spend('b', 1);
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
  for (let i = 0; i < 100; i++) share.spend('a', 100);
  share.spend('b', 1);
  want('a', 'a');
  assert.deepEqual(gone, []);
  await pass(175, 'b');
  assert.deepEqual(gone, ['a']);
});

test('once the others are quiet, all who rest go on', async (t) => {
  const { share, want, gone, pass } = scene(t);
  share.spend('b', 1);
  share.spend('a', 50);
  for (let i = 0; i < 100; i++) want('a', `${i}`, 40);
  await pass(900, 'b');
  assert.ok(gone.length > 3 && gone.length < 10, `${gone.length} of a hundred had a turn`);
  await pass(200);
  assert.equal(gone.length, 100);
});

test('nobody rests for more than two seconds', async (t) => {
  const { share, want, gone, pass } = scene(t);
  share.spend('a', 50);
  share.spend('b', 1);
  for (let i = 0; i < 200; i++) want('a', `${i}`, 40);
  await pass(1_900, 'b');
  assert.ok(gone.length < 50, `${gone.length} had a turn`);
  await pass(300, 'b');
  assert.equal(gone.length, 200);
});

test('the house and strangers neither rest nor make others rest', async () => {
  const watch = makeLoopWatch(undefined, undefined, always);
  watch.resume(house);
  watch.share.spend('a', 50);
  assert.equal(watch.takeTurn({ org: 'a', act: 'x' }), undefined, 'nobody else is there');
  watch.share.spend('b', 30);
  assert.equal(watch.takeTurn(house), undefined);
  assert.equal(watch.takeTurn({ org: 'from 192.0.2.1', act: 'http', isAside: true }), undefined);
  const rest = onBehalf({ org: 'a', act: 'x' }, () => watch.takeTurn());
  assert.ok(rest, 'whoever is current is meant');
  await rest;
});

test('what pieces of work take is what their organization has spent', async () => {
  let clock = 0;
  const watch = makeLoopWatch(undefined, () => clock, always);
  watch.resume({ org: 'b', act: 'y' });
  clock += 1;
  watch.resume({ org: 'a', act: 'x' });
  clock += 30;
  watch.resume(house);
  clock += 100;
  assert.equal(watch.takeTurn({ org: 'b', act: 'y' }), undefined, 'the house’s time is not the one’s before it');
  assert.ok(watch.takeTurn({ org: 'a', act: 'x' }) === undefined, 'a quarter of a hundred milliseconds has run out');
  clock += 30;
  watch.resume({ org: 'b', act: 'y' });
  const rest = watch.takeTurn({ org: 'a', act: 'x' });
  assert.ok(rest);
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
    setTimeout(() => onBehalf({ org: 'b', act: 'x' }, () => hold(1), watch), 5);
    setTimeout(hold, 5, 60); // a request that arrives, a body, a stream
    setTimeout(resolve, 5);
  });
  await setImmediate();
  watch.share.spend('c', 1);
  assert.equal(watch.takeTurn({ org: 'b', act: 'x' }), undefined);
});

test('a piece goes on after promises that are settled already, and ends before the next callback', async () => {
  const watch = makeLoopWatch(undefined, undefined, always);
  await new Promise<void>((resolve) => {
    setTimeout(
      () =>
        onBehalf(
          { org: 'a', act: 'x' },
          async () => {
            for (let i = 0; i < 6; i++) {
              hold(8);
              await undefined;
            }
          },
          watch,
        ),
      5,
    );
    setTimeout(resolve, 5);
  });
  watch.share.spend('c', 1);
  const rest = watch.takeTurn({ org: 'a', act: 'x' });
  assert.ok(rest);
  await rest;
});

test('work in slices, and what comes after a turn was waited for, counts for whom it is done and for nobody else', async () => {
  const watch = makeLoopWatch(undefined, undefined, always);
  watch.share.spend('c', 1);
  let isOver = false;
  const slices = onBehalf(
    { org: 'a', act: 'x' },
    () =>
      inSlices(
        (function* () {
          for (let i = 0; i < 20; i++) {
            hold(5);
            yield;
          }
        })(),
      ),
    watch,
  ).finally(() => (isOver = true));
  while (!isOver) {
    await soon();
    onBehalf({ org: 'b', act: 'y' }, () => {}, watch);
  }
  await slices;
  assert.equal(watch.takeTurn({ org: 'b', act: 'y' }), undefined, 'who did next to nothing does not rest');
  const rest = watch.takeTurn({ org: 'a', act: 'x' });
  assert.ok(rest, 'who had all of it does');
  await rest;
});

test('so many rest and no more: those who come then go on at once', async (t) => {
  const { share, gone, want, pass } = scene(t);
  want('a', 'first', 50);
  share.spend('b', 0);
  for (let i = 0; i < 600; i++) want('a', String(i));
  assert.equal(gone.length, 101, 'the first, and what came after five hundred');
  assert.deepEqual(share.figures().resting, [{ org: 'a', waiting: 500 }]);
  await pass(1_000);
  assert.equal(gone.length, 601);
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
