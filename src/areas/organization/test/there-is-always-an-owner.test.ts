import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';

test('the last owner can neither leave nor be demoted; one of two can', async (t) => {
  const { owner, member } = await quarterdeck(t);
  const alone = await owner.delete(`/organization/members/${owner.userId}`);
  assert.equal(alone.status, 409);
  assert.match(alone.body.error, /the last owner cannot leave; make somebody else an owner first/);
  assert.equal((await owner.patch(`/organization/members/${owner.userId}`, { role: 'member' })).status, 409);

  const second = await member(owner, 'member');
  assert.equal((await owner.patch(`/organization/members/${second.userId}`, { role: 'owner' })).status, 200);
  assert.equal((await owner.patch(`/organization/members/${owner.userId}`, { role: 'member' })).status, 200);
  assert.equal((await owner.get('/organization/audit')).status, 403); // at once
  assert.equal((await second.delete(`/organization/members/${second.userId}`)).status, 409);
});

test('of two owners who demote each other at once, one stays', async (t) => {
  const { owner, member } = await quarterdeck(t);
  for (let round = 0; round < 5; round++) {
    const second = await member(owner, 'owner');
    const [one, two] = await Promise.all([
      owner.delete(`/organization/members/${second.userId}`),
      second.patch(`/organization/members/${owner.userId}`, { role: 'member' }),
    ]);
    const { members } = (await (one.status === 204 ? owner : second).get('/organization/members')).body;
    assert.equal(members.filter((m: { role: string }) => m.role === 'owner').length, 1, `${one.status} ${two.status}`);
    if (two.status === 200) return; // the first owner is one no more
  }
});

test('any member may leave, with their tokens and grants, but not by a narrowed token', async (t) => {
  const { owner, member, narrowed } = await quarterdeck(t);
  const bob = await member(owner, 'member');
  assert.equal((await owner.post('/iam/grants', { subject: bob.userId, role: 'uptime.viewer' })).status, 201);
  const narrow = await narrowed(bob, [{ role: 'uptime.viewer' }]);
  assert.equal((await narrow.delete(`/organization/members/${bob.userId}`)).status, 403);
  assert.equal((await bob.delete(`/organization/members/${owner.userId}`)).status, 403);

  assert.equal((await bob.delete(`/organization/members/${bob.userId}`)).status, 204);
  assert.equal((await bob.get('/me')).status, 401);
  assert.equal((await narrow.get('/me')).status, 401);
  assert.deepEqual((await owner.get('/iam/grants')).body.grants, []);
});

test('an admin manages members and admins, never owners', async (t) => {
  const { owner, member, organization } = await quarterdeck(t);
  const admin = await member(owner, 'admin');
  const clerk = await member(owner, 'member');
  const stranger = await organization('elsewhere');

  assert.equal((await admin.patch(`/organization/members/${clerk.userId}`, { role: 'admin' })).status, 200);
  assert.equal((await admin.patch(`/organization/members/${clerk.userId}`, {})).body.role, 'admin');
  assert.equal((await admin.patch(`/organization/members/${admin.userId}`, { role: 'owner' })).status, 403);
  assert.equal((await admin.patch(`/organization/members/${owner.userId}`, { role: 'member' })).status, 403);
  assert.equal((await admin.delete(`/organization/members/${owner.userId}`)).status, 403);
  for (const [method, body] of [
    ['PATCH', { role: 'member' }],
    ['DELETE', undefined],
  ] as const) {
    assert.equal((await owner.request(method, `/organization/members/${stranger.userId}`, body)).status, 404);
    assert.equal((await owner.request(method, '/organization/members/usr_nobody', body)).status, 404);
  }
  assert.equal((await admin.delete(`/organization/members/${clerk.userId}`)).status, 204);
});
