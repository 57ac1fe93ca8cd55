import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { isAlive, nearby, proberPid, target } from '../local-support.ts';
import { eventually, made, monitor, stateOf, transitionsOf } from '../support.ts';

test('a local prober that hangs makes its vantage unavailable and takes nothing down; once it goes on, so does watching', {
  timeout: 120_000,
}, async (t) => {
  const { owner, dataDir, clock } = await quarterdeck(t, { env: nearby });
  const shop = await target(t);
  const its = await monitor(owner, ['local'], { http: { url: shop.url }, intervalSeconds: 5, timeoutMs: 2_000 });
  await eventually(async () => (await stateOf(owner, its)) === 'up');
  const isAvailable = async () => {
    const { vantages } = await made(owner.get('/uptime/catalog'));
    return vantages.find((v: { id: string }) => v.id === 'local').available;
  };

  const pid = (await proberPid(dataDir))!;
  process.kill(pid, 'SIGSTOP');
  t.after(() => isAlive(pid) && process.kill(pid, 'SIGCONT'));
  await clock.advance('2m');
  await eventually(async () => (await isAvailable()) === false);
  const another = { name: 'another', kind: 'http', http: { url: shop.url }, intervalSeconds: 60, vantages: ['local'] };
  const refused = await owner.post('/uptime/monitors', another);
  assert.equal(refused.status, 400);
  assert.match(refused.body.error, /local, which does not report at the moment/);

  process.kill(pid, 'SIGCONT');
  await eventually(isAvailable, { withinMs: 45_000 }); // with its next question, which it asks every so many seconds
  shop.hits = 0;
  await eventually(async () => shop.hits > 0);
  const seen = (await transitionsOf(owner, its)).map((transition) => transition.to);
  assert.ok(!seen.includes('down'), JSON.stringify(seen));
});
