import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, quarterdeck } from '../../../../test/harness/index.ts';

const refused = (answer: Answer, status: number, sentence: RegExp) => {
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.match(answer.body.error, sentence);
};

test('somebody who may make roles gives only what they hold themselves, and grants are for owners and admins', async (t) => {
  const { owner, member } = await quarterdeck(t);
  const [clerk, bob] = [await member(owner, 'member'), await member(owner, 'member')];
  const shop = (await owner.post('/uptime/services', { name: 'shop' })).body.id;
  const keeper = (await owner.post('/iam/roles', { name: 'Keeper', permissions: ['iam.role.admin', 'uptime.service.read'] })).body;
  await owner.post('/iam/grants', { subject: clerk.userId, role: keeper.id });
  await owner.post('/iam/grants', { subject: clerk.userId, role: 'uptime.editor', resourceIds: [shop] });
  const more = /a caller can give only what they hold/;

  // By grants, to others and to themselves.
  for (const subject of [bob.userId, clerk.userId]) {
    refused(await clerk.post('/iam/grants', { subject, role: 'uptime.editor', resourceIds: [shop] }), 403, /iam\.grant\.admin/);
    refused(await owner.post('/iam/grants', { subject, role: 'owner' }), 400, /owner is a member’s place in the organization, not a grant/);
  }
  // By roles: a new one, one that is widened, one that they hold and change.
  refused(
    await clerk.post('/iam/roles', { name: 'Mine', permissions: ['uptime.service.write'] }),
    403,
    /you do not hold every permission of this role/,
  );
  refused(
    await clerk.post('/iam/roles', { name: 'Mine', permissions: ['organization.ownership.admin'] }),
    403,
    /you do not hold every permission/,
  );
  refused(
    await clerk.patch(`/iam/roles/${keeper.id}`, { permissions: ['iam.role.admin', 'email.key.admin'] }),
    403,
    /you do not hold every permission/,
  );
  const strong = (await owner.post('/iam/roles', { name: 'Strong', permissions: ['registry.registry.admin'] })).body;
  for (const change of [{ name: 'Weak' }, { permissions: ['uptime.service.read'] }, { description: 'mine' }]) {
    refused(await clerk.patch(`/iam/roles/${strong.id}`, change), 403, /you do not hold every permission/);
  }
  refused(await clerk.delete(`/iam/roles/${strong.id}`), 403, /you do not hold every permission/);
  // By taking away what stands above them.
  const above = (await owner.post('/iam/grants', { subject: bob.userId, role: 'uptime.admin' })).body;
  refused(await clerk.delete(`/iam/grants/${above.id}`), 403, /iam\.grant\.admin/);
  // By the organization’s own roles, and by invitations.
  refused(await clerk.patch(`/organization/members/${clerk.userId}`, { role: 'admin' }), 403, /organization\.member\.admin/);
  refused(await clerk.post('/organization/invitations', { email: 'x@example.com' }), 403, /organization\.member\.admin/);
  // By tokens.
  refused(await clerk.post('/tokens', { name: 'x', scope: [{ role: 'uptime.admin' }] }), 403, more);

  // What they do hold they may pass on.
  const viewer = await clerk.post('/iam/roles', { name: 'Viewer', permissions: ['uptime.service.read', 'uptime.service.read'] });
  assert.equal(viewer.status, 201);
  assert.deepEqual(viewer.body.permissions, ['uptime.service.read']);
  assert.equal((await bob.get('/iam/catalog')).status, 403);
});

test('a narrowed token of an owner gives no more than the token holds', async (t) => {
  const { owner, member, narrowed } = await quarterdeck(t);
  const bob = await member(owner, 'member');
  const role = (await owner.post('/iam/roles', { name: 'Grants', permissions: ['iam.role.admin', 'organization.member.admin'] })).body;
  const narrow = await narrowed(owner, [{ role: role.id }]);
  refused(await narrow.post('/iam/grants', { subject: bob.userId, role: 'uptime.viewer' }), 403, /iam\.grant\.admin/);
  refused(await narrow.post('/iam/roles', { name: 'x', permissions: ['uptime.service.read'] }), 403, /you do not hold every permission/);
  refused(await narrow.patch(`/organization/members/${bob.userId}`, { role: 'owner' }), 403, /only those who hold the role owner/);
  refused(
    await narrow.delete(`/organization/members/${owner.userId}`),
    403,
    /only those who hold the role owner|organization\.member\.admin/,
  );
  refused(
    await narrow.post('/organization/invitations', { email: 'x@example.com', role: 'owner' }),
    403,
    /only those who hold the role owner/,
  );

  // An admin's token grants all but what only owners hold, and takes no more away.
  const asAdmin = await narrowed(owner, [{ role: 'admin' }]);
  const owning = (await owner.post('/iam/roles', { name: 'Owning', permissions: ['organization.ownership.admin'] })).body;
  refused(await asAdmin.post('/iam/grants', { subject: bob.userId, role: owning.id }), 403, /a caller can give only what they hold/);
  const above = (await owner.post('/iam/grants', { subject: bob.userId, role: owning.id })).body;
  refused(await asAdmin.delete(`/iam/grants/${above.id}`), 403, /so you cannot take it away/);
  assert.equal((await asAdmin.post('/iam/grants', { subject: bob.userId, role: role.id })).status, 201);
});

test('unknown and foreign subjects, roles and resources are refused alike', async (t) => {
  const { owner, organization, member } = await quarterdeck(t);
  const other = await organization('other');
  const theirRole = (await other.post('/iam/roles', { name: 'Theirs', permissions: ['uptime.service.read'] })).body.id;
  const theirService = (await other.post('/uptime/services', { name: 'theirs' })).body.id;
  const bob = await member(owner, 'member');
  for (const subject of [other.userId, 'usr_nobody'])
    refused(await owner.post('/iam/grants', { subject, role: 'uptime.viewer' }), 400, /subject is not a member of the organization/);
  for (const role of [theirRole, 'rol_nothing', 'constructor'])
    refused(await owner.post('/iam/grants', { subject: bob.userId, role }), 400, /is not a role; GET/);
  for (const id of [theirService, 'svc_nothing'])
    refused(
      await owner.post('/iam/grants', { subject: bob.userId, role: 'uptime.viewer', resourceIds: [id] }),
      400,
      /is not a resource that you can see/,
    );
  refused(await owner.post('/iam/grants', { subject: bob.userId, role: 'uptime.viewer', resourceIds: [] }), 400, /omit it instead/);
  for (const method of ['PATCH', 'DELETE'])
    refused(await owner.request(method, `/iam/roles/${theirRole}`, method === 'PATCH' ? { name: 'x' } : undefined), 404, /unknown role/);
  assert.equal(
    (await other.get('/iam/roles')).body.roles.some((r: { name: string }) => r.name === 'Theirs'),
    true,
  );
  assert.equal(
    (await owner.get('/iam/roles')).body.roles.some((r: { name: string }) => r.name === 'Theirs'),
    false,
  );
});
