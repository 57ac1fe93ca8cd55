import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Caller, caller, quarterdeck } from '../../../../../test/harness/index.ts';

test('tokens that mint one another are ten at most, and the first of them ends them all', async (t) => {
  const { owner, url } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const line: Caller[] = [owner];
  for (let n = 2; n <= 10; n++) {
    const made = await line.at(-1)!.post('/tokens', { name: `generation ${n}` });
    assert.equal(made.status, 201, `generation ${n}`);
    line.push(caller(url, made.body.key));
  }
  const tenth = line.at(-1)!;
  const eleventh = await tenth.post('/tokens', { name: 'generation 11' });
  assert.equal(eleventh.status, 409);
  assert.match(eleventh.body.error, /was minted by a line of 9 others, and none longer is kept; mint with one of those before it/);
  assert.equal((await line.at(-2)!.post('/tokens', { name: 'another tenth' })).status, 201);
  assert.equal((await tenth.post('/registry/login-credentials')).status, 201); // a login mints nothing more

  await owner.delete(`/tokens/${owner.tokenId}`);
  for (const who of line) assert.equal((await who.get('/me')).status, 401);
});
