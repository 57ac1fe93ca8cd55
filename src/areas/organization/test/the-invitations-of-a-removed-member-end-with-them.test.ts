import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { actingOperator } from '../../../identity/engine/acting.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { invite } from '../engine/invitations.ts';

test('the list of invitations says who invited, and a removed member’s open ones end', async (t) => {
  const { owner, member, app, anonymous } = await quarterdeck(t);
  const admin = await member(owner, 'admin');
  const made = await admin.post('/organization/invitations', { email: 'friend@example.com', role: 'admin' });
  assert.equal(made.body.invitation.invitedBy, admin.userId);
  await owner.post('/organization/invitations', { email: 'colleague@example.com' });
  await app.db.write(async (tx) => {
    await lockOrg(tx, owner.orgId);
    await invite(tx, actingOperator(owner.orgId), { email: 'operators@example.com', role: 'member' }, { place: 'it', held: undefined });
  });
  const listed = async () =>
    (await owner.get('/organization/invitations')).body.invitations.map((i: { email: string; invitedBy: string | null }) => [
      i.email,
      i.invitedBy,
    ]);
  assert.deepEqual(await listed(), [
    ['operators@example.com', null],
    ['colleague@example.com', owner.userId],
    ['friend@example.com', admin.userId],
  ]);

  assert.equal((await owner.delete(`/organization/members/${admin.userId}`)).status, 204);
  assert.deepEqual(await listed(), [
    ['operators@example.com', null],
    ['colleague@example.com', owner.userId],
  ]);
  const secret = made.body.link.split('/').pop();
  assert.equal((await anonymous.post('/organization/invitations/accept', { secret })).status, 404);
  const { entries } = (await owner.get('/organization/audit')).body;
  const ended = entries.find((e: { action: string }) => e.action === 'organization.invitation.delete');
  assert.deepEqual(ended.detail, { email: 'friend@example.com', invitedBy: admin.userId });
  assert.equal(ended.target, made.body.invitation.id);
});
