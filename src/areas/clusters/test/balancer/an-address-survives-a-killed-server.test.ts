import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { KillableServers } from '../../../../../test/harness/kill/index.ts';
import { eventually, scratch } from '../../../../../test/harness/process.ts';
import { clustersAlone, fakeBinaries, programsIn, withOwnPostgres } from '../process/support.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import {
  addAddresses,
  addressOf,
  balancedEnv,
  makeNode,
  makeService,
  nodeAddress,
  nodeServer,
  poolOf,
  servicesPath,
  talk,
  untilAddress,
} from './support.ts';

/** After the Services were made: while addresses are taken, listeners are opened and statuses are written; and later. */
const killsAfterMs = [0, 260];

/** A server is started three times, with its own PostgreSQL and programs. */
const timeout = 360_000;

test('a killed server finds its addresses again: each is one Service’s, and none is left without one', { timeout }, async (t) => {
  const binaries = await fakeBinaries(t);
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = { ...(await clustersAlone(binaries)), ...balancedEnv };
  const prepare = await withOwnPostgres(t, dataDir, env);
  await addAddresses(prepare, poolOf(28, 48));
  await prepare.stop();
  const servers = new KillableServers(t, { dir, dataDir, env: () => env });
  await nodeServer(t, nodeAddress(1), 30_120);
  const ports = [{ port: 8_120, nodePort: 30_120 }];
  try {
    const owner = await servers.start().owner();
    await readyCluster(owner, { name: 'prod', tier: 'large', managedLoadBalancers: { enabled: true } });
    const way = await adminOf(owner, 'prod');
    await makeNode(way, 'one', nodeAddress(1));
    await makeService(way, 'kept', { ports });
    const kept = await untilAddress(way, 'kept');
    let gone: string | undefined;
    for (const [n, afterMs] of killsAfterMs.entries()) {
      // One is made, one goes, and one stays while the server is killed.
      await makeService(way, `made-${n}`, { ports });
      if (gone) await kube(way, 'DELETE', `${servicesPath}/${gone}`);
      gone = `made-${n}`;
      await sleep(afterMs);
      await servers.kill();
      const isRefused = () =>
        talk(kept, 8_120).then(
          () => false,
          (error) => error.code === 'ECONNREFUSED',
        );
      await eventually(isRefused, { withinMs: 5_000 }); // the listener ends with its server
      const next = await servers.start().owner();
      await untilReady(next, 'prod');
      const address = await untilAddress(way, gone);
      assert.equal(await addressOf(way, 'kept'), kept);
      const shown = async () =>
        (await next.get('/clusters/prod')).body.managedLoadBalancers.loadBalancers as { service: string; ip: string }[];
      const wanted = [`default/kept ${kept}`, `default/${gone} ${address}`];
      await eventually(async () => (await shown()).map(({ service, ip }) => `${service} ${ip}`).join() === wanted.join(), {
        withinMs: 30_000,
      });
      assert.notEqual(address, kept);
      for (const each of [kept, address]) await eventually(async () => /hello/.test(await talk(each, 8_120).catch(() => '')));
    }
  } finally {
    await servers.kill();
    for (const pid of await programsIn(dataDir)) process.kill(pid, 'SIGKILL');
  }
});
