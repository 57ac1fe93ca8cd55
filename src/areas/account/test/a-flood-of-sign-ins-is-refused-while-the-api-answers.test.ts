import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { hashesMade } from '../engine/hashing.ts';
import { givePassword, goodPassword, signedInByPassword, signIn } from './passwords.ts';

test('a flood of sign-ins is refused while the API answers, and known people sign in', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1' } });
  await givePassword(qd, qd.owner);
  const known = await signedInByPassword(qd, qd.owner.email);
  const signedInAlready = await signedInByPassword(qd, qd.owner.email);
  await known.post('/sign-out');
  const before = hashesMade();
  const flood = Array.from({ length: 150 }, (_, i) =>
    browserLike(qd.url).post(
      '/sign-in',
      { email: `u${i}@example.com`, password: 'x' },
      { 'x-forwarded-for': `203.0.113.${i}`, 'x-forwarded-proto': 'https' },
    ),
  );
  const busy = await Promise.race(flood.map(async (each) => ((await each).status === 503 ? each : new Promise<never>(() => {}))));
  assert.equal(busy.headers.get('retry-after'), '5');
  assert.match(busy.text, /role="alert">Too many people sign in by password at this moment; try again in 5 s, or use a passkey/);
  for (let i = 0; i < 20; i++) assert.equal((await qd.owner.get('/me')).status, 200);
  await signedIn(qd, qd.owner.userId);
  assert.equal((await signIn(known, qd.owner.email)).path, '/account', 'a browser used before has a lane of its own');
  assert.equal((await signedInAlready.post('/sign-in/again', { password: goodPassword })).path, '/account', 'so has a session');
  const hashesOfKnown = 2;

  const statuses = (await Promise.all(flood)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 401).length, hashesMade() - before - hashesOfKnown, 'what is refused costs no hash');
  assert.ok(statuses.filter((status) => status === 503).length > 50);
  assert.deepEqual([...new Set(statuses)].sort(), [401, 503]);
  assert.equal((await signIn(browserLike(qd.url), qd.owner.email)).path, '/account', 'a refused sign-in is counted against nobody');
});
