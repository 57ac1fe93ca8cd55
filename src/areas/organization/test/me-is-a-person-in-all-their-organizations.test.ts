import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../test/harness/index.ts';

test('who asks who they are is told all their organizations, the acting one first', async (t) => {
  const { owner, organization, narrowed, url } = await quarterdeck(t);
  const ada = await organization('ada');
  await organization('nobody-of-ours');
  const { link } = (await owner.post('/organization/invitations', { email: ada.email })).body;
  const { key } = (await ada.post('/organization/invitations/accept', { secret: link.split('/').at(-1) })).body;
  const slugs = async (by: Pick<typeof ada, 'get'>) =>
    (await by.get('/me')).body.organizations.map((o: { slug: string; role: string }) => `${o.slug} ${o.role}`);
  assert.deepEqual(await slugs(ada), ['ada owner', 'default member']);
  assert.deepEqual(await slugs(caller(url, key)), ['default member', 'ada owner']);
  // Given to a program for some work in one organization, it tells of no other.
  assert.deepEqual(await slugs(await narrowed(ada, [{ role: 'uptime.viewer' }])), ['ada owner']);
  assert.deepEqual(await slugs(owner), ['default owner']);
});
