import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reservedPermissions } from '../../../../contract/permissions.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';

const reserved = [...reservedPermissions];

test('grants, the catalog and the contacts are for owners and admins, whatever a custom role says', async (t) => {
  const { owner, member, app } = await quarterdeck(t);
  const [admin, clerk] = [await member(owner, 'admin'), await member(owner, 'member')];
  const role = (await owner.post('/iam/roles', { name: 'Clerks', permissions: ['uptime.service.read'] })).body;
  for (const permission of reserved) {
    for (const answer of [
      await owner.post('/iam/roles', { name: permission, permissions: [permission] }),
      await owner.patch(`/iam/roles/${role.id}`, { permissions: ['uptime.service.read', permission] }),
    ]) {
      assert.equal(answer.status, 400);
      assert.equal(
        answer.body.error,
        `${permission} is for owners and admins alone, so no custom role can hold it; make the member an admin`,
      );
    }
  }
  const { services } = (await clerk.get('/iam/permissions')).body;
  const labels = services.flatMap((s: { resources: { tiers: { permission: string; label: string }[] }[] }) =>
    s.resources.flatMap((r) => r.tiers.filter((x) => reserved.includes(x.permission)).map((x) => x.label)),
  );
  assert.equal(labels.length, reserved.length);
  for (const label of labels) assert.match(label, / \(owners and admins only\)$/);
  assert.ok(labels.includes('Grant roles and take them away (owners and admins only)'));

  // A server of the release before may still let them in: they give nothing, and the role can be changed.
  await owner.post('/iam/grants', { subject: clerk.userId, role: role.id });
  await app.db.write(
    (tx) => run(tx)`update identity.custom_role set permissions = permissions || ${reserved}::text[] where id = ${role.id}`,
  );
  for (const [who, status] of [
    [clerk, 403],
    [admin, 200],
  ] as const) {
    assert.equal((await who.get('/iam/catalog')).status, status);
    assert.equal((await who.patch('/organization/contacts', { technicalEmail: 'ops@example.com' })).status, status);
  }
  assert.equal((await owner.patch(`/iam/roles/${role.id}`, { name: 'Clerks of old' })).status, 200);
});
