import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Caller, caller, quarterdeck } from '../../../../../test/harness/index.ts';

/** Somebody who does this as often as they can, until it is refused as unauthenticated. */
function busily(t: TestContext, act: (n: number) => ReturnType<Caller['post']>, hands = 8) {
  let on = true;
  const begun = Promise.withResolvers<void>();
  t.after(() => {
    on = false;
  });
  const hand = async (n: number) => {
    for (let answered = 0; on; answered++) {
      if ((await act(n)).status === 401) return;
      if (answered === 3) begun.resolve();
    }
  };
  return { begun: begun.promise, ended: Promise.all(Array.from({ length: hands }, (_, n) => hand(n))) };
}

test('a stolen token whose children mint without pause is revoked all the same, and so is everything it minted', async (t) => {
  const { owner, url } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const stolen = (await owner.post('/tokens', { name: 'stolen' })).body;
  const children: Caller[] = [];
  for (let n = 0; n < 8; n++)
    children.push(caller(url, (await caller(url, stolen.key).post('/tokens', { name: `${n}` })).body.key as string));
  const thief = busily(t, (n) => children[n]!.post('/registry/login-credentials', {}));
  await thief.begun;
  assert.equal((await owner.delete(`/tokens/${stolen.id}`)).status, 204);
  await thief.ended;
});

test('a member whose token mints without pause is removed all the same', async (t) => {
  const { owner, member } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const leaving = await member(owner, 'admin');
  const minting = busily(t, (n) => (n % 2 ? leaving.post('/tokens', { name: 'x' }) : leaving.post('/registry/login-credentials', {})), 4);
  await minting.begun;
  assert.equal((await owner.delete(`/organization/members/${leaving.userId}`)).status, 204);
  await minting.ended;
});
