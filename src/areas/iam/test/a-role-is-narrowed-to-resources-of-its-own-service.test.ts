import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';

test('a grant, or a scope, that names a resource of another service is refused', async (t) => {
  const { owner, member } = await quarterdeck(t);
  const bob = await member(owner, 'member');
  await owner.post('/registry/registries', { slug: 'acme-images' });
  const shop = (await owner.post('/uptime/services', { name: 'shop' })).body.id;
  const { resources } = (await owner.get('/iam/catalog')).body;
  const images = resources.find((r: { service: string }) => r.service === 'registry').id;
  const both = (await owner.post('/iam/roles', { name: 'Both', permissions: ['registry.image.read', 'uptime.service.read'] })).body.id;

  for (const [role, id, ok] of [
    ['registry.viewer', images, true],
    ['registry.viewer', shop, false],
    ['uptime.viewer', images, false],
    ['email.viewer', shop, false],
    ['uptime.viewer', shop, true],
    ['oncall.viewer', shop, true], // services stand in both catalogs
    [both, images, true],
    [both, shop, true],
  ] as const) {
    const grant = await owner.post('/iam/grants', { subject: bob.userId, role, resourceIds: [id] });
    const token = await owner.post('/tokens', { name: 'x', scope: [{ role, resourceIds: [id] }] });
    for (const answer of [grant, token]) {
      assert.equal(answer.status, ok ? 201 : 400, `${role} on ${id}: ${JSON.stringify(answer.body)}`);
      if (!ok)
        assert.match(
          answer.body.error,
          new RegExp(`^${id} is a resource of \\w+, which the role ${role} gives nothing on; name resources of`),
        );
    }
  }
});
