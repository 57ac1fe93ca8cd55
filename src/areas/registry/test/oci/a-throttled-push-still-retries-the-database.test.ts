import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DatabaseBusy, DatabaseUnavailable } from '../../../../kernel/db/index.ts';
import { retryWhileBusy, retryWhileUnavailable } from '../../engine/push/database-retry.ts';

/** A step of a push that is throttled this long before each attempt, and whose first attempts fail. */
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

test('a push throttled for longer than the retry time survives a short outage of the database', async (t) => {
  assert.equal(await retryWhileUnavailable(step(t, 10_001, [new DatabaseUnavailable('restarts')])), 'stored');
});

test('and a busy database', async (t) => {
  assert.equal(await retryWhileBusy(step(t, 10_001, [new DatabaseBusy('crowded')])), 'stored');
});

test('it retries for ten seconds from the first failure', async (t) => {
  const away = () => new DatabaseUnavailable('gone');
  await assert.rejects(retryWhileUnavailable(step(t, 6_000, [away(), away(), away()])), DatabaseUnavailable);
});
