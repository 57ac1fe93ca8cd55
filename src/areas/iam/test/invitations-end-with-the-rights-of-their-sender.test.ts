import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';

test('a withdrawn grant and a narrowed role end the invitations that their holders may not give any more', async (t) => {
  const { owner, member, anonymous } = await quarterdeck(t);
  const [first, second, third, admin] = [
    await member(owner, 'member', 'first@example.com'),
    await member(owner, 'member', 'second@example.com'),
    await member(owner, 'member', 'third@example.com'),
    await member(owner, 'admin', 'admin@example.com'),
  ];
  const roleOf = async (name: string) => {
    const made = await owner.post('/iam/roles', {
      name,
      description: '',
      permissions: ['organization.member.admin', 'registry.image.read'],
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body.id as string;
  };
  const [inviters, others] = [await roleOf('inviters'), await roleOf('others')];
  const grant = async (subject: string, role: string) => {
    const made = await owner.post('/iam/grants', { subject, role });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body.id as string;
  };
  const firsts = await grant(first.userId, inviters);
  await grant(second.userId, inviters);
  await grant(third.userId, inviters);
  const thirds = await grant(third.userId, others);
  await grant(admin.userId, inviters);

  const secrets = new Map<string, string>();
  for (const [who, name] of [
    [first, 'of-first'],
    [second, 'of-second'],
    [third, 'of-third'],
    [admin, 'of-admin'],
  ] as const) {
    const made = await who.post('/organization/invitations', { email: `${name}@example.com`, role: 'member' });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    secrets.set(name, made.body.link.split('/').pop());
  }
  const open = async () =>
    (await owner.get('/organization/invitations')).body.invitations.map((i: { email: string }) => i.email.split('@')[0]).sort();
  const ended = async () =>
    (await owner.get('/organization/audit')).body.entries
      .filter((e: { action: string }) => e.action === 'organization.invitation.delete')
      .map((e: { detail: unknown }) => e.detail);
  const accept = async (name: string) => (await anonymous.post('/organization/invitations/accept', { secret: secrets.get(name) })).status;

  assert.equal((await owner.delete(`/iam/grants/${firsts}`)).status, 204);
  assert.deepEqual(await open(), ['of-admin', 'of-second', 'of-third']);
  assert.deepEqual(await ended(), [{ email: 'of-first@example.com', invitedBy: first.userId }]);
  assert.equal(await accept('of-first'), 404);

  // What a role says of itself, or gains, ends nothing.
  const patch = async (change: object) => assert.equal((await owner.patch(`/iam/roles/${inviters}`, change)).status, 200);
  await patch({ description: 'they invite' });
  await patch({ permissions: ['organization.member.admin', 'registry.image.read', 'registry.registry.read'] });
  await patch({ permissions: ['organization.member.admin', 'registry.registry.read'] });
  assert.deepEqual(await open(), ['of-admin', 'of-second', 'of-third']);

  // The third may still give by another role, and an admin by their place.
  await patch({ permissions: ['registry.registry.read'] });
  assert.deepEqual(await open(), ['of-admin', 'of-third']);
  assert.equal(await accept('of-second'), 404);
  assert.equal((await owner.delete(`/iam/grants/${thirds}`)).status, 204);
  assert.deepEqual(await open(), ['of-admin']);
  assert.equal((await ended()).length, 3);
  assert.equal(await accept('of-admin'), 201);
});
