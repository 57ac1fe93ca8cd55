import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { runFor } from '../../fairness/index.ts';
import { syncFairly, syncIfFree } from '../fair-disk.ts';

/** Syncs that end when the test says so. */
function scene() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const sync = (org: string) => () => {
    begun.push(org);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  const all: Promise<void>[] = [];
  return {
    begun,
    ask: (org: string) => runFor({ org, operation: 'push' }, () => all.push(syncFairly(sync(org)))),
    askIfFree: (org: string) => runFor({ org, operation: 'push' }, () => syncIfFree(sync(org))),
    endNext: async () => {
      ends.shift()!();
      await setImmediate();
    },
    endAll: async () => {
      while (ends.length > 0) {
        ends.shift()!();
        await setImmediate();
      }
      await Promise.all(all);
    },
  };
}

test('three threads of four sync, the organizations by turns; what may be left is left', async () => {
  const { begun, ask, askIfFree, endNext, endAll } = scene();
  for (let i = 0; i < 6; i++) ask('a');
  await setImmediate();
  assert.deepEqual(begun, ['a', 'a', 'a']);
  assert.equal(askIfFree('b'), undefined);
  ask('b');
  await endNext();
  await endNext();
  assert.ok(begun.includes('b'), 'b did not wait for all of a');
  await endAll();
  assert.equal(begun.length, 7);
  const free = askIfFree('b');
  assert.ok(free);
  await endAll();
  await free;
});

test('a sync that fails gives its turn back', async () => {
  for (let i = 0; i < 5; i++)
    await assert.rejects(
      runFor({ org: 'a', operation: 'push' }, () => syncFairly(() => Promise.reject(new Error('EIO')))),
      /EIO/,
    );
  assert.equal(await syncFairly(async () => 'done'), 'done');
});
