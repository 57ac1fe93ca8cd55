import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';
import { heldUpByOrganization, openRace } from '../../../test/harness/race.ts';
import { setEntitlements } from '../../areas/organization/engine/organization.ts';
import { listOrgs } from '../../areas/organization/store/organizations.ts';
import { actingOperator } from '../engine/acting.ts';
import { topics } from '../principal.ts';
import { lockRights } from '../rights-lock.ts';

test('what waits while the operator switches a service off, or a custom role loses a permission, is refused', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, app } = qd;
  const race = await openRace(qd.connection);
  t.after(race.close);

  await t.test('a custom role', async () => {
    const role = (await owner.post('/iam/roles', { name: 'editor', permissions: ['email.suppression.write'] })).body;
    const editor = await qd.member(owner, 'member');
    await owner.post('/iam/grants', { subject: editor.userId, role: role.id });
    assert.equal((await editor.post('/email/suppressions', { address: 'a@example.org' })).status, 201);
    await race.hold('select from identity.custom_role where id = $1 for update', [role.id]);
    const changed = owner.patch(`/iam/roles/${role.id}`, { permissions: ['email.message.read'] });
    await race.untilWaiting(1);
    const waits = editor.post('/email/suppressions', { address: 'b@example.org' });
    await race.untilWaiting(2);
    await race.release();
    assert.equal((await changed).status, 200);
    assert.equal((await waits).status, 403);
  });

  await t.test('an entitlement', async () => {
    await race.hold(...heldUpByOrganization(owner.orgId));
    const changed = app.db.write(async (tx) => {
      await lockRights(tx, owner.orgId, { revokes: [topics.org(owner.orgId), topics.roles(owner.orgId)] });
      const org = (await listOrgs(tx)).find(({ id }) => id === owner.orgId)!;
      await setEntitlements(tx, actingOperator(org.id), org, ['uptime']);
    });
    await race.untilWaiting(1);
    const waits = owner.post('/email/suppressions', { address: 'c@example.org' });
    await race.untilWaiting(2);
    await race.release();
    await changed;
    const { status, headers } = await waits;
    assert.deepEqual([status, headers.get('x-error-code')], [403, 'not_entitled']);
  });
});
