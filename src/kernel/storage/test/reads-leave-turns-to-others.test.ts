import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { runFor } from '../../fairness/index.ts';
import { readFairly } from '../fair-disk.ts';

test('of two hundred concurrent transfers a few read at once, and other work does not wait for the rest', async () => {
  const under = new Map<string, number>();
  const ends: (() => void)[] = [];
  const ask = (org: string) =>
    runFor({ org, operation: 'pull' }, () =>
      readFairly(async () => {
        under.set(org, (under.get(org) ?? 0) + 1);
        await new Promise<void>((resolve) => ends.push(resolve));
        under.set(org, under.get(org)! - 1);
      }),
    );
  const all = [ask('b'), ...Array.from({ length: 200 }, () => ask('a'))];
  await setImmediate();
  assert.deepEqual(Object.fromEntries(under), { b: 1, a: 4 });
  all.push(ask('b'));
  await setImmediate();
  assert.equal(under.get('b'), 2, 'it comes in at once');
  let most = 0;
  for (; ends.length > 0; await setImmediate()) {
    ends.shift()!();
    most = Math.max(most, under.get('a')!);
  }
  await Promise.all(all);
  assert.equal(most, 4);
});
