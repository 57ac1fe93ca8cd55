import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { isAlive, liveInstances, nearby, proberPid, target } from '../local-support.ts';
import { eventually, made, monitor, stateOf } from '../support.ts';

test('a server starts its prober when there is something to check from here, again when it dies, and ends it', {
  timeout: 60_000,
}, async (t) => {
  const qd = await quarterdeck(t, { env: { ...nearby, QUARTERDECK_SMTP_RELAY: 'smtp://user:geheim@127.0.0.1:9' } });
  const { owner, dataDir } = qd;
  const shop = await target(t);
  const { vantages } = await made(owner.get('/uptime/catalog'));
  assert.deepEqual(vantages.find((v: { id: string }) => v.id === 'local')?.available, true, 'it would probe, so the vantage is there');
  assert.equal(await proberPid(dataDir), undefined);

  const its = await monitor(owner, ['local'], { http: { url: shop.url }, intervalSeconds: 5, timeoutMs: 2_000 });
  await eventually(async () => (await stateOf(owner, its)) === 'up');
  const pid = (await proberPid(dataDir))!;
  const environment = (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).split('\0').map((line) => line.split('=')[0]);
  assert.deepEqual(
    environment.filter((name) => /QUARTERDECK_(?!PROBER$)|PG|DATABASE|SMTP/.test(name!)),
    [],
  );
  assert.equal((await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).includes('geheim'), false);

  process.kill(pid, 'SIGKILL');
  shop.status = 500;
  await eventually(async () => {
    const found = await proberPid(dataDir);
    return found !== pid && found;
  });
  await eventually(async () => (await stateOf(owner, its)) === 'down');
  assert.equal((await liveInstances(qd)).filter((i) => !i.standby).length, 1, 'it went on under its name');
  await made(owner.delete(`/uptime/monitors/${its.id}`));
  await eventually(async () => (await proberPid(dataDir)) === undefined);
  const after = (await made(owner.get('/uptime/catalog'))).vantages.find((v: { id: string }) => v.id === 'local');
  assert.equal(after.available, true);
});

test('two servers share what is checked from here, and one that stops leaves its share to the other at once', {
  timeout: 60_000,
}, async (t) => {
  // So deep that no socket fits below it.
  const base = await mkdtemp(join(tmpdir(), 'qdd-'));
  t.after(() => rm(base, { recursive: true, force: true }));
  const dataDir = join(base, 'deep'.repeat(20), 'down'.repeat(10));
  const qd = await quarterdeck(t, { dataDir, env: nearby });
  const beside = await quarterdeck(t, { connection: qd.connection, dataDir, env: nearby });
  await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir, env: { ...nearby, QUARTERDECK_ROLES: 'api' } });
  const shops = await Promise.all(Array.from({ length: 6 }, () => target(t)));
  const monitors = [];
  for (const shop of shops) monitors.push(await monitor(qd.owner, ['local'], { http: { url: shop.url }, intervalSeconds: 60 }));
  await eventually(async () => shops.every((shop) => shop.hits > 0));
  const probers = () => Promise.all([0, 1, 2].map((place) => proberPid(qd.dataDir, place)));
  // The first may have checked everything before the second has begun.
  await eventually(async () => (await probers()).filter((pid) => pid !== undefined).length >= 2);
  const pids = await probers();
  assert.deepEqual(
    pids.map((pid) => pid !== undefined),
    [true, true, false],
    'each that probes has its own prober',
  );
  await eventually(async () => (await liveInstances(qd)).filter((i) => !i.standby).length === 2);

  const began = performance.now();
  await beside.stop();
  assert.ok(performance.now() - began < 8_000);
  const gone = pids.find((pid) => pid !== undefined && !isAlive(pid));
  assert.ok(gone, 'its prober went with it');
  assert.equal((await liveInstances(qd)).filter((i) => !i.standby).length, 1, 'and is not waited for');
  // What is made now is checked by the one that is left, whoever it would have belonged to.
  const late = await Promise.all(Array.from({ length: 4 }, () => target(t)));
  for (const shop of late) await monitor(qd.owner, ['local'], { http: { url: shop.url }, intervalSeconds: 60 });
  await eventually(async () => late.every((shop) => shop.hits > 0));
  for (const its of monitors) await eventually(async () => (await stateOf(qd.owner, its)) === 'up');
  await qd.stop();
  for (const pid of pids) assert.ok(pid === undefined || !isAlive(pid));
});
