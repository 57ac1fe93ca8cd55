import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { standInForWireguard } from '../../../../../test/fakes/wireguard/index.ts';
import { withPrograms } from '../process/support.ts';
import { askPeers, meshedCluster, newPublicKey } from './support.ts';

test('a node that says something else with every request has its own mesh looked at, twice a second at most, and no other', async (t) => {
  const wireguard = await standInForWireguard();
  const { owner, url } = await withPrograms(t);
  const [busy, quiet] = [await meshedCluster({ owner, url }, 'busy'), await meshedCluster({ owner, url }, 'quiet')];
  const [node, other] = [await busy.join('worker'), await quiet.join('worker')];
  const passes = async () => [await wireguard.asked(node.publicKey), await wireguard.asked(other.publicKey)] as const;
  // A mesh that was made a moment ago is looked at for its own sake.
  for (let [, last] = await passes(), isCalm = false; !isCalm; ) {
    await setTimeout(1_500);
    const [, now] = await passes();
    isCalm = now === last;
    last = now;
  }
  const [, before] = await passes();
  const began = performance.now();
  const asked = 40;
  for (let n = 0; n < asked; n++) assert.equal((await askPeers(node, { reached: [newPublicKey()] })).status, 200);
  const [ofBusy, after] = await passes();
  const seconds = (performance.now() - began) / 1_000;
  // Each pass asks for the peers twice; every ten seconds there is one in any case.
  assert.ok(after - before <= 2 * (seconds / 10 + 2), `${after - before} of ${asked} within ${seconds} s`);
  assert.ok(ofBusy <= 2 * (2 * seconds + 10), `${ofBusy} of ${asked} within ${seconds} s`);
});
