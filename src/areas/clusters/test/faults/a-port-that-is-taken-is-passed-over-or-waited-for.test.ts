import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { eventually, scratch } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';

test('a used port is skipped; a cluster’s own port is waited for, and the tenant sees the reason', async (t) => {
  const port = await freePort();
  const { connection, drop } = await freshDatabase();
  const { dir: dataDir } = await scratch(t);
  const start = () => quarterdeck(t, { connection, dataDir, env: { QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${port}` } });
  const take = async () => {
    const taken = createServer().listen(port, '127.0.0.1');
    await once(taken, 'listening');
    return async () => {
      taken.close();
      await once(taken, 'close');
    };
  };

  const giveBack = await take();
  const first = await start();
  const passed = await readyCluster(first.owner, { name: 'passed' });
  assert.notEqual(new URL(passed.endpoint).port, String(port));
  await giveBack();
  const own = await readyCluster(first.owner, { name: 'own' });
  assert.equal(new URL(own.endpoint).port, String(port), 'the lowest that is free');
  const admin = await adminOf(first.owner, 'own');
  await first.stop();

  const giveBackAgain = await take();
  const second = await start();
  await eventually(async () => (await second.owner.get('/clusters/own')).body.phase === 'degraded');
  const { body } = await second.owner.get('/clusters/own/usage');
  assert.match(body.limitations[0], new RegExp(`^degraded: its port ${port} is taken by another program`));
  assert.equal((await untilReady(second.owner, 'passed')).endpoint, passed.endpoint, 'others are untouched');
  await giveBackAgain();
  assert.equal((await untilReady(second.owner, 'own')).endpoint, own.endpoint);
  assert.equal((await kube(admin, 'GET', '/readyz')).status, 200);
  await second.stop();
  await drop();
});
