import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { startHere } from '../../../../../test/platform/start-here.ts';
import { run } from '../../../../kernel/db/index.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster, untilReady } from '../support.ts';

test('after one of two shard servers is killed, its clusters answer at the same address with all data', async (t) => {
  const port = await freePort();
  const env = { QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${port}` };
  const api = await quarterdeck(t, { env: { ...env, QUARTERDECK_ROLES: 'api,worker' } });
  const { owner } = api;
  const { dir } = await scratch(t);
  const shared = { ...env, QUARTERDECK_DATABASE_URL: urlOf(api.connection), QUARTERDECK_PUBLIC_URL: api.url, QUARTERDECK_ROLES: 'shard' };
  const first = serverProcess(t, { dir, dataDir: api.dataDir, env: shared });
  /** Servers that are not killed run in this process. */
  const start = () => startHere(t, { dir, dataDir: api.dataDir, env: shared });
  await first.ready;
  assert.equal(await (await fetch(`${await first.ready}/readyz`)).text(), 'ready: shard\n');

  // The API’s process serves none itself, and asks all the same.
  const made = await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  assert.equal((await owner.get('/clusters/prod/nodes')).body.nodes.length, 1);

  // Killed: one is 502, the list too, since no shard is left; a second one does not take over before the lease has lapsed.
  await first.killed();
  await api.clock.advance('30s');
  assert.equal((await owner.get('/clusters/prod')).status, 502);
  assert.equal((await owner.get('/clusters/prod/nodes')).status, 502);
  const list = await owner.get('/clusters');
  assert.equal(list.status, 502);
  assert.match(list.body.error, /no shard answers/);
  // With another shard that is there and has not taken it over yet, it is shown, as degraded.
  const other = '00000000-0000-4000-8000-000000000001';
  await api.app.db.write((tx) => run(tx)`insert into clusters.shard (id, seen_at) values (${other}, kernel.now())`);
  assert.deepEqual((await owner.get('/clusters')).body.clusters, [{ ...made, phase: 'degraded' }]);
  const second = await start();
  const back = await untilReady(owner, 'prod');
  assert.equal(back.endpoint, made.endpoint);
  await eventually(async () =>
    kube(node, 'GET', '/api/v1/nodes/worker-1').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  assert.equal((await kube(admin, 'GET', '/api/v1/nodes')).body.items.length, 1, 'the token and what is kept are as they were');

  // Stopped in good order, it gives its clusters back: a third one has them at once.
  const third = await start();
  await second.stop();
  await eventually(async () =>
    kube(node, 'GET', '/api/v1/nodes/worker-1').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  assert.equal((await owner.delete('/clusters/prod')).status, 202);
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404);
  await third.stop(); // before its database goes
});
