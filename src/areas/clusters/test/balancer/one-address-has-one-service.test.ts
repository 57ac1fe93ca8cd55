import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { eventually } from '../../../../../test/harness/process.ts';
import { rows, run } from '../../../../kernel/db/index.ts';
import { addPool, removePool } from '../../index.ts';
import { lockHeldCluster, releaseAddress, takeAddress } from '../../store/load-balancers.ts';
import { kube } from '../support.ts';
import {
  addAddresses,
  addressOf,
  balancedCluster,
  makeNode,
  makeService,
  nodeAddress,
  nodeServer,
  poolAddress,
  poolOf,
  servicesPath,
  talk,
  untilAddress,
  untilEvent,
  withBalancers,
} from './support.ts';

const TakenRow = Type.Object({ service: Type.String(), address: Type.String() });

test('two Services want the last address: one gets it, and the other one once it is free', async (t) => {
  const qd = await withBalancers(t);
  const { owner, app } = qd;
  const other = await qd.organization('other');
  await addAddresses(qd, poolOf(32, 16));
  const ways = [await balancedCluster(owner), await balancedCluster(other)];
  const ports = [{ port: 8_100, nodePort: 30_100 }];
  await nodeServer(t, nodeAddress(1), 30_100);
  for (const way of ways) await makeNode(way, 'one', nodeAddress(1));
  const taken = () =>
    app.db.read((tx) => rows(tx, TakenRow)`select service, host(address) as address from clusters.load_balancer order by address`);

  await Promise.all(ways.map((way) => makeService(way, 'web', { ports })));
  await eventually(async () => (await Promise.all(ways.map((way) => addressOf(way, 'web')))).some(Boolean), { withinMs: 30_000 });
  const winner = (await addressOf(ways[0]!, 'web')) ? 0 : 1;
  const [won, lost] = [ways[winner]!, ways[1 - winner]!];
  assert.match(await untilEvent(lost, 'web', 'LoadBalancerAddress'), /every address .* is taken/);
  assert.equal(await addressOf(lost, 'web'), undefined);
  assert.equal((await taken()).length, 1);
  // The other tenant asks for it by name: the sentence is the same as for an address that nobody has.
  await makeService(lost, 'thief', { ports, spec: { loadBalancerIP: poolAddress(16) } });
  assert.match(
    await untilEvent(lost, 'thief', 'LoadBalancerAddress'),
    /not free here: it is no address of the operator’s pool, or another/,
  );
  await kube(lost, 'DELETE', `${servicesPath}/thief`);
  await kube(won, 'DELETE', `${servicesPath}/web`);
  assert.equal(await untilAddress(lost, 'web'), poolAddress(16));
  assert.match(await talk(poolAddress(16), 8_100), /hello/);

  await t.test('a network of which a Service has an address stays, and none is added twice', async () => {
    const write = (work: Parameters<typeof app.db.write>[0]) => app.db.write(work);
    await assert.rejects(
      write((tx) => removePool(tx, poolOf(32, 16))),
      /1 Services have an address/,
    );
    await assert.rejects(
      write((tx) => removePool(tx, '10.1.1.0/24')),
      /unknown network 10\.1\.1\.0\/24/,
    );
    await assert.rejects(addAddresses(qd, poolOf(29, 16)), /overlaps .*which the pool has/);
    // Two operators at the same moment.
    const both = await Promise.allSettled([poolOf(29, 32), poolOf(30, 32)].map((network) => addAddresses(qd, network)));
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    await assert.rejects(
      write((tx) => addPool(tx, '127.0.0.0/24', { isLoopbackAllowed: false })),
      /only this machine reaches/,
    );
  });

  await t.test('one address is never taken twice, however many ask at once', async () => {
    const [{ id }] = (await app.db.read(
      (tx) => rows(tx, Type.Object({ id: Type.String() }))`select id from clusters.cluster order by id limit 1`,
    )) as [{ id: string }];
    const ask = (n: number) =>
      app.db.write((tx) => takeAddress(tx, { org: owner.orgId, cluster: id, uid: `u${n}`, namespace: 'x', service: `s${n}` }));
    const given = (await Promise.all(Array.from({ length: 12 }, (_, n) => ask(n)))).filter((each) => each !== undefined);
    assert.equal(new Set(given).size, given.length);
    assert.ok(given.length === 8 || given.length === 4, `${given.length} addresses of the network that was added`);
    await app.db.write(async (tx) => {
      for (let n = 0; n < 12; n++) await releaseAddress(tx, id, `u${n}`);
    });
    const lease = { id, lease: '00000000-0000-4000-8000-000000000000' };
    assert.equal(await app.db.write((tx) => lockHeldCluster(tx, lease)), undefined, 'a server that lost the lease takes none');
  });

  await t.test('Services that are deleted while their listeners open leave nothing', async () => {
    for (let n = 0; n < 8; n++) {
      await makeService(lost, `brief-${n}`, { ports: [{ port: 8_110 + n, nodePort: 30_100 }] });
      if (n % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 40 * n));
      await kube(lost, 'DELETE', `${servicesPath}/brief-${n}`);
    }
    // A deletion that the watch missed is found by the next pass, after 30 s.
    await eventually(async () => (await taken()).map(({ service }) => service).join() === 'web', { withinMs: 60_000 });
    for (let n = 0; n < 8; n++) await assert.rejects(talk(poolAddress(32), 8_110 + n), /ECONNREFUSED/);
  });

  await t.test('a deleted cluster gives its address back', async () => {
    const gone = winner === 0 ? other : owner;
    assert.equal((await gone.delete('/clusters/prod')).status, 202);
    await eventually(async () => (await taken()).length === 0, { withinMs: 60_000 });
    await assert.rejects(talk(poolAddress(16), 8_100), /ECONNREFUSED/);
  });
  await app.db.write((tx) => run(tx)`delete from clusters.address_pool`);
});
