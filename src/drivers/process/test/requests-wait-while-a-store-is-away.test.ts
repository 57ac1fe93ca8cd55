import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { makeRequestGate } from '../engine/request-gate.ts';

async function stateOf(waiting: Promise<void> | undefined): Promise<string> {
  if (!waiting) return 'open';
  await turn();
  return Promise.race([
    waiting.then(
      () => 'passed',
      (error) => `refused ${error.code}`,
    ),
    Promise.resolve('waits'),
  ]);
}

test('requests wait until every outage is over, however it ends', async () => {
  const gate = makeRequestGate();
  assert.equal(gate.pass(), undefined);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  gate.closeUntil(first.promise);
  const waiting = gate.pass();
  gate.closeUntil(second.promise);
  first.resolve();
  assert.equal(await stateOf(waiting), 'waits', 'the second one is not over');
  second.reject(new Error('it failed'));
  await waiting;
  assert.equal(gate.pass(), undefined);
});

test('after a long outage requests go on to fail by themselves; during a change that would lose them they are refused', async () => {
  const forever = new Promise(() => {});
  const open = makeRequestGate();
  open.closeUntil(forever, { maxMs: 1 });
  await open.pass();
  assert.equal(open.pass(), undefined);

  const strict = makeRequestGate();
  const change = Promise.withResolvers<void>();
  strict.closeUntil(change.promise, { maxMs: 1, isStrict: true });
  await assert.rejects(async () => strict.pass(), { code: 503 });
  await assert.rejects(async () => strict.pass(), { code: 503 }, 'also those that come later');
  change.resolve();
  await turn();
  assert.equal(strict.pass(), undefined);
});
