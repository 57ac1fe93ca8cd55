import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Caller, caller, quarterdeck } from '../../../../../test/harness/index.ts';

const endOf = async (who: Caller, id: string): Promise<string> =>
  (await who.get('/tokens')).body.tokens.find((x: { id: string }) => x.id === id).expiresAt;

test('a minted token ends no later than its minter, and a longer life is refused', async (t) => {
  const { owner, clock, url } = await quarterdeck(t);
  const short = (await owner.post('/tokens', { name: 'ten minutes', expiresIn: 600 })).body;
  const minter = caller(url, short.key);
  const end = await endOf(owner, short.id);

  for (const expiresIn of [601, 3_600, 366 * 86_400]) {
    const refused = await minter.post('/tokens', { name: 'longer', expiresIn });
    assert.equal(refused.status, 403);
    assert.equal(
      refused.body.error,
      `the token that mints it ends at ${end}, and what it mints ends no later; leave expiresIn out for as long as it lasts, or mint with a token that lasts longer`,
    );
  }
  const unsaid = (await minter.post('/tokens', { name: 'as long as it lasts' })).body;
  assert.equal(await endOf(owner, unsaid.id), end);
  const shorter = (await minter.post('/tokens', { name: 'shorter', expiresIn: 60 })).body;
  assert.ok((await endOf(owner, shorter.id)) < end);

  const child = caller(url, unsaid.key);
  const grandchild = (await child.post('/tokens', { name: 'grandchild' })).body;
  assert.equal(await endOf(owner, grandchild.id), end);
  assert.equal((await child.post('/tokens', { name: 'longer', expiresIn: 601 })).status, 403);

  await clock.advance('9m');
  for (const key of [short.key, unsaid.key, grandchild.key]) assert.equal((await caller(url, key).get('/me')).status, 200);
  await clock.advance('61s');
  for (const key of [short.key, unsaid.key, grandchild.key, shorter.key]) assert.equal((await caller(url, key).get('/me')).status, 401);
});
