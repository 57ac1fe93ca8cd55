import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';

test('a demotion ends the invitations for roles that the demoted member may not give any more', async (t) => {
  const { owner, member, anonymous } = await quarterdeck(t);
  const second = await member(owner, 'owner');
  const invited = async (email: string, role: string) => {
    const made = await second.post('/organization/invitations', { email, role });
    assert.equal(made.status, 201);
    return { id: made.body.invitation.id as string, secret: made.body.link.split('/').pop() as string };
  };
  const links = {
    owner: await invited('owner@example.com', 'owner'),
    admin: await invited('admin@example.com', 'admin'),
    member: await invited('member@example.com', 'member'),
  };
  await owner.post('/organization/invitations', { email: 'another@example.com', role: 'owner' });
  const open = async () => (await owner.get('/organization/invitations')).body.invitations.map((i: { email: string }) => i.email).sort();
  const demote = async (role: string) => assert.equal((await owner.patch(`/organization/members/${second.userId}`, { role })).status, 200);
  const ended = async () =>
    (await owner.get('/organization/audit')).body.entries
      .filter((e: { action: string }) => e.action === 'organization.invitation.delete')
      .map((e: { target: string; detail: unknown }) => [e.target, e.detail]);

  await demote('admin');
  assert.deepEqual(await open(), ['admin@example.com', 'another@example.com', 'member@example.com']);
  assert.equal((await anonymous.post('/organization/invitations/accept', { secret: links.owner.secret })).status, 404);
  assert.deepEqual(await ended(), [[links.owner.id, { email: 'owner@example.com', invitedBy: second.userId }]]);

  // A member may not invite.
  await demote('member');
  assert.deepEqual(await open(), ['another@example.com']);
  assert.equal((await anonymous.post('/organization/invitations/accept', { secret: links.member.secret })).status, 404);
  assert.equal((await ended()).length, 3);

  // A promotion ends nothing.
  await demote('owner');
  assert.deepEqual(await open(), ['another@example.com']);
});
