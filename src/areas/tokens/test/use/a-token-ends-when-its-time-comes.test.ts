import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../../test/harness/index.ts';

const days = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 86_400_000;

test('a token ends when its time comes, remembered or not', async (t) => {
  const { owner, clock, url } = await quarterdeck(t);
  const mint = async (expiresIn: number) => {
    const { key } = (await owner.post('/tokens', { name: `${expiresIn} s`, expiresIn })).body;
    return caller(url, key);
  };
  const [minute, hour, unused] = [await mint(60), await mint(3_600), await mint(60)];
  assert.equal((await minute.get('/me')).status, 200);
  await clock.advance('30s');
  assert.equal((await minute.get('/me')).status, 200);
  await clock.advance('31s');
  const expired = await minute.get('/me');
  assert.equal(expired.status, 401);
  assert.equal(expired.body.error, 'unauthenticated: the token is unknown, disabled, expired or revoked');
  assert.equal(expired.headers.get('www-authenticate'), 'Bearer realm="quarterdeck"');
  assert.equal((await unused.get('/me')).status, 401);
  assert.equal((await hour.get('/me')).status, 200);
  assert.ok((await owner.get('/tokens')).body.tokens.some((x: { name: string }) => x.name === '60 s')); // still listed, to be seen and deleted
});

test('ninety days unless asked otherwise, a minute at least, 366 days at most', async (t) => {
  const { owner } = await quarterdeck(t);
  const lifetime = async (body: object) => {
    const made = await owner.post('/tokens', { name: 'x', ...body });
    assert.equal(made.status, 201);
    const { createdAt, expiresAt } = (await owner.get('/tokens')).body.tokens.find((x: { id: string }) => x.id === made.body.id);
    return days(createdAt, expiresAt);
  };
  assert.equal(await lifetime({}), 90);
  assert.equal(await lifetime({ expiresIn: 366 * 86_400 }), 366);
  for (const expiresIn of [59, 0, -1, 366 * 86_400 + 1, 60.5, '3600', null]) {
    const refused = await owner.post('/tokens', { name: 'x', expiresIn });
    assert.equal(refused.status, 400, String(expiresIn));
    assert.match(refused.body.error, /^expiresIn must be /);
  }
});

test('a disabled token is refused until it is enabled, a deleted one for good', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const { id, key } = (await owner.post('/tokens', { name: 'ci' })).body;
  const ci = caller(url, key);
  assert.equal((await ci.get('/me')).status, 200);

  const off = await owner.patch(`/tokens/${id}`, { enabled: false });
  assert.deepEqual([off.status, off.body.enabled], [200, false]);
  assert.equal((await ci.get('/me')).status, 401);
  assert.equal((await ci.patch(`/tokens/${id}`, { enabled: true })).status, 401); // not by itself
  assert.equal((await owner.patch(`/tokens/${id}`, {})).body.enabled, false);
  assert.equal((await owner.patch(`/tokens/${id}`, { enabled: true })).status, 200);
  assert.equal((await ci.get('/me')).status, 200);

  assert.equal((await ci.delete(`/tokens/${id}`)).status, 204); // a leaked token may end itself
  assert.equal((await ci.get('/me')).status, 401);
  assert.equal((await owner.patch(`/tokens/${id}`, { enabled: true })).status, 404);
  assert.equal((await owner.delete(`/tokens/${id}`)).status, 404);
});

test('another member’s token does not exist for any caller', async (t) => {
  const { owner, member, organization } = await quarterdeck(t);
  const [admin, stranger] = [await member(owner, 'admin'), await organization('elsewhere')];
  for (const who of [admin, stranger]) {
    assert.equal((await who.patch(`/tokens/${owner.tokenId}`, { enabled: false })).status, 404);
    assert.equal((await who.delete(`/tokens/${owner.tokenId}`)).status, 404);
  }
  assert.equal((await owner.get('/me')).status, 200);
});
