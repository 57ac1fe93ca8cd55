import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtinRoles, permissions } from '../../../../contract/permissions.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { rightsOf } from '../../../identity/rights.ts';

interface Held {
  permission: string;
  everywhere: boolean;
  resources: number;
  resourceIds: string[];
  roles: string[];
}

test('what a member may do follows from role and grants, and is what the guards go by', async (t) => {
  const { owner, member, app, organization, narrowed } = await quarterdeck(t);
  const ann = await member(owner, 'member', 'ann@example.com');
  const effective = async (userId: string) => {
    const { status, body } = await owner.get(`/iam/effective?userId=${userId}`);
    assert.equal(status, 200, JSON.stringify(body));
    const rights = (await app.db.read((tx) => rightsOf(tx, owner.orgId, userId)))!;
    assert.deepEqual(body.permissions.map((p: Held) => p.permission).sort(), [...rights.keys()].sort(), 'as the guards compute it');
    for (const { permission, everywhere, resources, resourceIds } of body.permissions as Held[]) {
      const reach = rights.get(permission as never)!;
      assert.deepEqual([everywhere, resources], [reach === '*', reach === '*' ? 0 : reach.size], permission);
      if (reach !== '*') for (const id of resourceIds) assert.ok(reach.has(id));
    }
    return body as { role: string; email: string; permissions: Held[] };
  };

  const plain = await effective(ann.userId);
  assert.deepEqual([plain.email, plain.role, plain.permissions], ['ann@example.com', 'member', []]);
  const all = await effective(owner.userId);
  assert.deepEqual(
    all.permissions.map((p) => p.permission),
    permissions,
  );
  assert.ok(all.permissions.every((p) => p.everywhere && p.roles.includes('owner')));

  const service = (await owner.post('/uptime/services', { name: 'shop' })).body;
  const role = (await owner.post('/iam/roles', { name: 'Watchers', permissions: ['uptime.monitor.write'] })).body;
  const grant = (body: object) => owner.post('/iam/grants', { subject: ann.userId, ...body });
  assert.equal((await grant({ role: role.id, resourceIds: [service.id] })).status, 201);
  const narrow = await effective(ann.userId);
  assert.deepEqual(
    narrow.permissions.map(({ permission, everywhere, resourceIds, roles }) => [permission, everywhere, resourceIds, roles]),
    [
      ['uptime.monitor.read', false, [service.id], [role.id]],
      ['uptime.monitor.write', false, [service.id], [role.id]],
    ],
    'a tier brings the lower ones with it',
  );
  const viewer = (await grant({ role: 'uptime.viewer' })).body;
  const wide = await effective(ann.userId);
  const read = wide.permissions.find((p) => p.permission === 'uptime.monitor.read')!;
  assert.deepEqual([read.everywhere, read.resources, read.roles.toSorted()], [true, 0, [role.id, 'uptime.viewer'].sort()]);
  const viewerAtoms = builtinRoles.find((r) => r.id === 'uptime.viewer')!.permissions;
  assert.equal(wide.permissions.length, viewerAtoms.length + 1);
  await owner.delete(`/iam/grants/${viewer.id}`);
  assert.deepEqual((await effective(ann.userId)).permissions, narrow.permissions);

  for (const userId of ['usr_unknown', (await organization('neighbour')).userId]) {
    const unknown = await owner.get(`/iam/effective?userId=${userId}`);
    assert.deepEqual([unknown.status, unknown.body.error], [404, 'unknown member']);
  }
  assert.equal((await owner.get('/iam/effective')).status, 400);
  assert.equal((await ann.get(`/iam/effective?userId=${ann.userId}`)).status, 403);
  assert.equal((await (await narrowed(owner, [{ role: 'uptime.admin' }])).get(`/iam/effective?userId=${ann.userId}`)).status, 403);
});
