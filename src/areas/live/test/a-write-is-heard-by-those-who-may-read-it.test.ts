import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { bearer, listens } from './support.ts';

test('a write is heard in its own organization, by streams that may read it', async (t) => {
  const qd = await quarterdeck(t);
  const other = await qd.organization('other');
  const member = await qd.member(qd.owner, 'member');
  const [owner, plain, foreign] = await Promise.all([
    listens(t, qd.url, bearer(qd.owner), { takesHello: false }),
    listens(t, qd.url, bearer(member), { takesHello: false }),
    listens(t, qd.url, bearer(other), { takesHello: false }),
  ]);
  assert.deepEqual(
    [owner.status, owner.headers['content-type'], owner.headers['x-accel-buffering'], owner.headers['cache-control']],
    [200, 'text/event-stream', 'no', 'no-store'],
  );
  const hello = (await owner.next('hello')).data as { version: string; organization: string; kinds: string[] };
  assert.deepEqual([hello.version, hello.organization], [qd.app.version, 'default']);
  assert.ok(hello.kinds.includes('oncall.incident') && hello.kinds.includes('organization.audit'));
  const less = (await plain.next('hello')).data['kinds'] as string[];
  assert.deepEqual(less, [
    'iam.role',
    'oncall.paging',
    'organization.contacts',
    'organization.member',
    'organization.profile',
    'tokens.token',
  ]);
  await foreign.next('hello');

  assert.equal((await qd.owner.post('/registry/registries', { slug: 'acme' })).status, 201);
  assert.deepEqual((await owner.changed()).sort(), ['organization.audit', 'registry.registry']);

  // The other streams hear nothing of it: the next thing that they hear is what concerns them.
  await other.patch('/organization', { name: 'Other' });
  assert.ok((await foreign.changed()).includes('organization.profile'));
  await qd.owner.patch('/organization', { name: 'Default' });
  assert.deepEqual(await plain.changed(), ['organization.profile']);
});
