import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { standInForWireguard } from '../../../../../test/fakes/wireguard/index.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { clustersAlone, fakeBinaries, withOwnPostgres } from '../process/support.ts';
import { untilReady } from '../support.ts';
import { askPeers, meshedCluster } from './support.ts';

test('the interface of a mesh stays when its server is killed, is taken over by the next one, and goes with a graceful stop', async (t) => {
  const wireguard = await standInForWireguard();
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = await clustersAlone(await fakeBinaries(t));
  const first = serverProcess(t, { dir, dataDir, env });
  const owner = await first.owner();
  const mesh = await meshedCluster({ owner, url: await first.ready });
  const node = await mesh.join('worker-1');
  const { address, peers } = (await askPeers(node)).body;
  await eventually(async () => (await wireguard.configs())[0]!.includes(node.publicKey));
  const before = await wireguard.configs();

  await first.killed();
  assert.deepEqual(await wireguard.configs(), before);
  const second = await withOwnPostgres(t, dataDir, env);
  await untilReady(second.owner, 'prod');
  const after = await eventually(
    async () => {
      const asked = await askPeers(node).catch(() => undefined);
      return asked?.status === 200 && asked.body;
    },
    { withinMs: 60_000 },
  );
  assert.deepEqual([after.address, after.peers], [address, peers], 'the same key, port and addresses');
  // The next server writes it again: for a moment the file is empty.
  await eventually(async () => isDeepStrictEqual(await wireguard.configs(), before), { withinMs: 60_000 });
  assert.equal(await wireguard.made(), 1, 'it was not made anew');

  await second.stop();
  assert.deepEqual(await wireguard.configs(), []);
});
