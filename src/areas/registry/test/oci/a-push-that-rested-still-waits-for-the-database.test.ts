import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DatabaseBusy, DatabaseUnavailable } from '../../../../kernel/db/index.ts';
import { inTurn, patiently } from '../../engine/push/patience.ts';

/** A step of a push that rests for so long each time before it asks the database, which then fails it so often. */
function step(t: TestContext, restMs: number, failures: Error[]) {
  let clock = 0;
  t.mock.method(performance, 'now', () => clock);
  return async () => {
    clock += restMs;
    const failure = failures.shift();
    if (failure) throw failure;
    return 'stored';
  };
}

test('a push that rested for longer than it is patient is not refused because the database is away for a moment', async (t) => {
  assert.equal(await patiently(step(t, 10_001, [new DatabaseUnavailable('restarts')])), 'stored');
});

test('nor because its organization has its turn a moment later', async (t) => {
  assert.equal(await inTurn(step(t, 10_001, [new DatabaseBusy('crowded')])), 'stored');
});

test('it waits ten seconds from the first failure on, and no longer', async (t) => {
  const away = () => new DatabaseUnavailable('gone');
  await assert.rejects(patiently(step(t, 6_000, [away(), away(), away()])), DatabaseUnavailable);
});
