import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { signedIn } from '../../../../test/harness/visitor.ts';

test('a person sees and revokes their tokens of every organization, at once on every process', async (t) => {
  const qd = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  const other = await qd.organization('other');
  const { body: minted } = await ada.post('/tokens', { name: '<b>deploy</b>', expiresIn: 86_400 });
  const { body: child } = await caller(qd.url, minted.key).post('/tokens', { name: 'child' });
  const { body: invited } = await other.post('/organization/invitations', { email: ada.email });
  const browser = await signedIn(qd, ada.userId);
  await browser.post(new URL(invited.link).pathname);
  const inOther = (await browser.api('POST', '/tokens', { name: 'in other' }, { 'x-organization': 'other' })).body;
  const status = async (key: string) => (await caller(second.url, key).get('/me')).status;
  for (const key of [minted.key, child.key, inOther.key, ada.key]) assert.equal(await status(key), 200);

  const { text } = await browser.get('/account/tokens');
  for (const told of [
    '&#60;b&#62;deploy&#60;/b&#62;',
    'minted by &#60;b&#62;deploy',
    'in other',
    '<h2>other</h2>',
    'quarterdeck tokens create',
  ])
    assert.ok(text.includes(told), told);
  assert.ok(!text.includes(minted.key));

  const stranger = await signedIn(qd, other.userId);
  for (const path of [`/account/tokens/default/${minted.id}/revoke`, `/account/tokens/other/${minted.id}/revoke`])
    assert.equal((await stranger.post(path)).status, 404, 'of others there is nothing');
  assert.equal((await browser.post(`/account/tokens/default/${minted.id}/revoke`, {}, { 'sec-fetch-site': 'same-site' })).status, 403);
  assert.equal(await status(minted.key), 200);

  assert.equal((await browser.post(`/account/tokens/default/${minted.id}/revoke`)).path, '/account/tokens');
  // The other process hears of it by a notification.
  const gone = (...keys: string[]) => eventually(async () => (await Promise.all(keys.map(status))).every((each) => each === 401));
  await gone(minted.key, child.key);
  assert.equal(await status(ada.key), 200);
  const { entries } = (await qd.owner.get('/organization/audit')).body;
  const row = entries.find((e: { action: string; target: string }) => e.action === 'tokens.token.delete' && e.target === minted.id);
  assert.deepEqual([row.actor, row.tokenId.startsWith('ses_')], [ada.userId, true]);

  assert.equal((await browser.post('/account/tokens/revoke')).path, '/account/tokens');
  await gone(ada.key, inOther.key);
  assert.match((await browser.get('/account/tokens')).text, /You have no tokens/);
  assert.equal((await qd.owner.get('/me')).status, 200, 'tokens of others go on');
});
