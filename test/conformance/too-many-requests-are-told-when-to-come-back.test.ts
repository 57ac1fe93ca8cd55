import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../harness/index.ts';

test('a token over its limit is told when to come back, and other tokens go on', async (t) => {
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
  assert.deepEqual(body, { error: `more than 5 requests a minute with this token; try again in ${seconds} s` });
  assert.equal(headers.get('x-error-code'), 'rate_limited');
  assert.match(headers.get('ratelimit')!, /^"default";r=0;t=1[12]$/);

  const other = await qd.narrowed(qd.owner, []);
  assert.equal((await other.get('/me')).status, 200);
  assert.equal((await qd.anonymous.get('/me')).status, 401);
});

test('a refused request counts too, and a limit of 0 is none', async (t) => {
  const limited = await quarterdeck(t, { env: { QUARTERDECK_RATE_LIMIT: '2' } });
  assert.equal((await limited.owner.post('/tokens', { nonsense: true })).status, 400);
  assert.equal((await limited.owner.get('/tokens?limit=0')).status, 400);
  assert.equal((await limited.owner.get('/me')).status, 429);

  const unlimited = await quarterdeck(t);
  const { headers } = await unlimited.owner.get('/me');
  assert.equal(headers.get('ratelimit'), null);
});
