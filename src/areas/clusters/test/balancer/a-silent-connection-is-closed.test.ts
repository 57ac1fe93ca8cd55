import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRelay } from '../../planes/balancer/relay.ts';
import { pair } from './support.ts';

const limits = { keepAliveMs: 40, halfOpenMs: 80, openMs: 120 };

for (const [what, ends] of [
  ['of which both sides are silent', false],
  ['that was silent before one side ended, and is silent after', true],
] as const)
  test(`a connection ${what} is closed`, { timeout: 10_000 }, async (t) => {
    const [[client, far], [node, pod]] = [await pair(t), await pair(t)];
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    startRelay(client, node, undefined, resolve, limits);
    pod.resume();
    far.resume();
    await sleep(limits.keepAliveMs * 1.5);
    if (ends) far.end();
    await closed;
    assert.ok(client.destroyed && node.destroyed);
    for (const each of [far, pod]) each.destroy();
  });
