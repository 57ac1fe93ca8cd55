import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { startRelay } from '../../planes/balancer/relay.ts';
import { pair } from './support.ts';

for (const [who, ending] of [
  ['the client', 0],
  ['the node', 1],
] as const)
  test(`a connection is cut while the end of ${who} is being passed on: both sockets close, and its place is free`, {
    timeout: 10_000,
  }, async (t) => {
    const pairs = [await pair(t), await pair(t)] as const;
    const [client, node] = pairs.map(([near]) => near) as [Socket, Socket];
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const relay = startRelay(client, node, undefined, resolve);
    const far = pairs[ending][1];
    const gone = pairs.map(([, each]) => new Promise((done) => each.resume().once('close', done)));
    // In the same turn, right after the relay has begun to end the other side.
    pairs[ending][0].once('end', () => relay.destroy());
    far.end('the last word');
    await closed;
    assert.ok(client.destroyed && node.destroyed);
    for (const [, each] of pairs) each.destroy();
    await Promise.all(gone);
  });
