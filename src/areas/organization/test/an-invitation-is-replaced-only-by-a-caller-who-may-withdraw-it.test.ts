import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';

test('an invitation is replaced only by a caller who may withdraw it, and the audit log names it', async (t) => {
  const { owner, member } = await quarterdeck(t);
  const admin = await member(owner, 'admin');
  const invite = (by: typeof owner, role: string, email = 'heir@example.com') => by.post('/organization/invitations', { email, role });
  const open = async () =>
    (await owner.get('/organization/invitations')).body.invitations.map(({ id, role }: { id: string; role: string }) => ({ id, role }));

  const first = (await invite(owner, 'owner')).body.invitation.id as string;
  assert.equal((await admin.delete(`/organization/invitations/${first}`)).status, 403);
  for (const email of ['heir@example.com', 'HEIR@example.com']) {
    const refused = await invite(admin, 'member', email);
    assert.equal(refused.status, 409);
    assert.match(refused.body.error, /open invitation to the role owner.*withdraw it first/);
  }
  assert.deepEqual(await open(), [{ id: first, role: 'owner' }]);

  const second = (await invite(owner, 'admin')).body.invitation.id as string;
  const third = (await invite(admin, 'member')).body.invitation.id as string;
  assert.deepEqual(await open(), [{ id: third, role: 'member' }]);
  const ended = (await owner.get('/organization/audit')).body.entries
    .filter((e: { action: string }) => e.action === 'organization.invitation.delete')
    .map((e: { target: string; detail: unknown }) => [e.target, e.detail]);
  assert.deepEqual(ended, [
    [second, { email: 'heir@example.com', replacedBy: third }],
    [first, { email: 'heir@example.com', replacedBy: second }],
  ]);
});
