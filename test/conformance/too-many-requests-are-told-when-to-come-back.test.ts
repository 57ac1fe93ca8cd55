import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../harness/index.ts';

test('a member over their limit is told when to come back, a fresh token of theirs too, and other members go on', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_RATE_LIMIT: '5' } });
  for (const left of [4, 3, 2, 1, 0]) {
    const { status, headers } = await qd.owner.get('/me');
    assert.equal(status, 200);
    assert.equal(headers.get('ratelimit-policy'), '"default";q=5;w=60');
    assert.match(headers.get('ratelimit')!, new RegExp(`^"default";r=${left};t=\\d+$`));
  }

  const { status, body, headers } = await qd.owner.get('/me');
  const seconds = Number(headers.get('retry-after'));
  assert.equal(status, 429);
  assert.ok(seconds >= 11 && seconds <= 12, `one of five a minute fits again in 12 s, not in ${seconds}`);
  assert.deepEqual(body, { error: `more than 5 requests a minute by this user; try again in ${seconds} s` });
  assert.equal(headers.get('x-error-code'), 'rate_limited');
  assert.match(headers.get('ratelimit')!, /^"default";r=0;t=1[12]$/);

  const fresh = await qd.narrowed(qd.owner, []);
  assert.equal((await fresh.get('/me')).status, 429, 'a token minted this moment has no bucket of its own');
  const other = await qd.member(qd.owner, 'member');
  const heard = await other.get('/me');
  assert.equal(heard.status, 200);
  assert.match(heard.headers.get('ratelimit')!, /^"default";r=4;t=\d+$/);
  assert.equal((await qd.anonymous.get('/me')).status, 401);
});

test('a refused request counts too, and a limit of 0 is none', async (t) => {
  const limited = await quarterdeck(t, { env: { QUARTERDECK_RATE_LIMIT: '3' } });
  assert.equal((await limited.owner.post('/tokens', { nonsense: true })).status, 400);
  assert.equal((await limited.owner.get('/tokens?limit=0')).status, 400);
  const headersOfAnother = { authorization: `Bearer ${limited.owner.key}`, 'x-organization': 'another' };
  const mismatch = async () => (await fetch(`${limited.url}/api/v1/tokens`, { headers: headersOfAnother })).status;
  assert.deepEqual([await mismatch(), await mismatch()], [403, 429], 'the name of another organization too');
  assert.equal((await limited.owner.get('/me')).status, 429);

  const unlimited = await quarterdeck(t);
  const { headers } = await unlimited.owner.get('/me');
  assert.equal(headers.get('ratelimit'), null);
});
