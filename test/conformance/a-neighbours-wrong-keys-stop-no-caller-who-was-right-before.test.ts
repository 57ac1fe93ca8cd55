import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintKey } from '../../src/identity/token-format.ts';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';

const env = { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1' };
const me = (qd: Quarterdeck, key: string, from: string) =>
  fetch(`${qd.url}/api/v1/me`, { headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': from } });

/** A server whose buckets do not fill again while a slow machine runs the test. */
async function frozen(t: TestContext) {
  const qd = await quarterdeck(t, { env });
  const now = performance.now();
  t.mock.method(performance, 'now', () => now);
  return qd;
}

/** More wrong keys than an address may have. */
async function guess(qd: Quarterdeck, from: (n: number) => string) {
  const answers = await Promise.all(Array.from({ length: 90 }, (_, n) => me(qd, mintKey('pat').key, from(n))));
  assert.ok(answers.some(({ status }) => status === 429));
}

// Each from addresses of its own.
test('a neighbour’s wrong keys stop no caller who was right before', async (t) => {
  const qd = await frozen(t);
  await t.test('behind an address with too many wrong keys, a key that was right goes on, and a new one waits', () =>
    goesOnIfRightBefore(qd),
  );
  await t.test('the addresses of one /48 of IPv6 are one, and IPv4 written as IPv6 is IPv4', () => knowsAddresses(qd));
  await t.test('many good keys that come for the first time at once are not taken for guesses', () => takesManyGoodKeys(qd));
  await t.test('an alert is never told 429: a source that was right goes on, another is asked to come back', () => neverRefusesAlerts(qd));
});

async function goesOnIfRightBefore(qd: Quarterdeck) {
  const here = '192.0.2.7';
  assert.equal((await me(qd, qd.owner.key, here)).status, 200);
  const fresh = (await qd.owner.post('/tokens', { name: 'fresh' })).body as { id: string; key: string };
  await guess(qd, () => here);

  assert.equal((await me(qd, qd.owner.key, here)).status, 200, 'remembered');
  qd.app.caches.dropAll();
  assert.equal((await me(qd, qd.owner.key, here)).status, 200, 'forgotten, but it was right before: it is no guess');
  const held = await me(qd, fresh.key, here);
  assert.deepEqual([held.status, held.headers.get('x-error-code')], [429, 'rate_limited'], 'never seen here');
  assert.ok(Number(held.headers.get('retry-after')) <= 60);
  assert.equal((await me(qd, fresh.key, '192.0.2.8')).status, 200, 'from elsewhere');
  assert.equal((await me(qd, fresh.key, here)).status, 200, 'and from then on from here as well');

  await qd.owner.delete(`/tokens/${fresh.id}`);
  assert.equal((await me(qd, fresh.key, here)).status, 401);
  assert.equal((await me(qd, fresh.key, here)).status, 429, 'a revoked key is a wrong one like any other');
}

async function knowsAddresses(qd: Quarterdeck) {
  await guess(qd, (n) => `2001:db8:1:2::${n.toString(16)}`);
  const fresh = async () => ((await qd.owner.post('/tokens', { name: 'fresh' })).body as { key: string }).key;
  assert.equal((await me(qd, await fresh(), '[2001:db8:1:2:ffff::1]:443')).status, 429);
  assert.equal((await me(qd, await fresh(), '2001:db8:2:3::1')).status, 200);

  await guess(qd, (n) => (n % 2 ? '::ffff:192.0.2.1' : '192.0.2.1:4711'));
  assert.equal((await me(qd, await fresh(), '192.0.2.1')).status, 429);

  await guess(qd, (n) => `198.51.100.1, made up ${n}`);
  assert.equal((await me(qd, await fresh(), 'else')).status, 429, 'what is no address is whoever said it');
  assert.equal((await me(qd, await fresh(), '198.51.100.1')).status, 200);
}

async function takesManyGoodKeys(qd: Quarterdeck) {
  const keys = await Promise.all(
    Array.from({ length: 100 }, async () => ((await qd.owner.post('/tokens', { name: 'one of many' })).body as { key: string }).key),
  );
  const statuses = await Promise.all(keys.map(async (key) => (await me(qd, key, '203.0.113.1')).status));
  assert.ok(!statuses.includes(429), String(statuses));
  assert.ok(statuses.includes(200));
}

async function neverRefusesAlerts(qd: Quarterdeck) {
  const { id: serviceId } = (await qd.owner.post('/oncall/services', { name: 'shop' })).body as { id: string };
  const source = async () => (await qd.owner.post('/oncall/alert-sources', { name: 'a', serviceId })).body as { id: string; token: string };
  const deliver = ({ id, token }: { id: string; token: string }) =>
    fetch(`${qd.url}/api/v1/oncall/alert-sources/${id}/alerts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.2' },
      body: JSON.stringify({ version: '4', status: 'firing', groupKey: 'g', alerts: [] }),
    });
  const [known, fresh] = [await source(), await source()];
  const first = (await deliver(known)).status;
  assert.ok(first < 300 || first === 400, `${first}: it was let in`);
  const answers = await Promise.all(Array.from({ length: 90 }, () => deliver({ id: known.id, token: mintKey('src').key })));
  assert.deepEqual([...new Set(answers.map((a) => a.status))].sort(), [401, 503]);

  qd.app.caches.dropAll();
  assert.equal((await deliver(known)).status, first);
  const held = await deliver(fresh);
  assert.deepEqual([held.status, Number(held.headers.get('retry-after')) > 0], [503, true]);
  assert.equal((await qd.owner.get('/me')).status, 200, 'and other doors are open');
}
