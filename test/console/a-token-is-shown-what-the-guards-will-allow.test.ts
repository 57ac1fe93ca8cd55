import assert from 'node:assert/strict';
import { test } from 'node:test';
import { broughtBy, type Entry, reachOfToken } from '../../console/areas/organization/permission-rules.ts';
import { caller, quarterdeck, type Someone } from '../harness/index.ts';

test('what the console shows of a token before it is minted is what the guards then allow', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const made = async (by: Someone, path: string, body: object) => {
    const answer = await by.post(path, body);
    assert.ok(answer.status < 300, `${path} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const [shop, mail] = [await made(owner, '/oncall/services', { name: 'shop' }), await made(owner, '/oncall/services', { name: 'mail' })];
  const registry = await made(owner, '/registry/registries', { slug: 'shop', displayName: 'Shop' });
  const custom = await made(owner, '/iam/roles', { name: 'deploys', permissions: ['registry.image.write', 'oncall.incident.write'] });
  const { resources } = (await owner.get('/tokens/scope-options')).body;
  const registryId = resources.find(
    (one: { service: string; name: string }) => one.service === 'registry' && one.name === registry.slug,
  ).id;
  const ada = await qd.member(owner, 'member', 'ada@example.com');
  await made(owner, '/iam/grants', { subject: ada.userId, role: 'oncall.editor', resourceIds: [shop.id] });
  await made(owner, '/iam/grants', { subject: ada.userId, role: custom.id });

  const scopes: Entry[][] = [
    [],
    [{ role: 'oncall.viewer', resourceIds: [] }],
    [{ role: 'oncall.viewer', resourceIds: [shop.id] }],
    [
      { role: 'oncall.editor', resourceIds: [shop.id] },
      { role: custom.id, resourceIds: [] },
    ],
    [
      { role: 'oncall.viewer', resourceIds: [shop.id] },
      { role: 'oncall.viewer', resourceIds: [mail.id] },
      { role: 'registry.viewer', resourceIds: [registryId] },
    ],
    [{ role: custom.id, resourceIds: [registryId, shop.id] }],
    [{ role: 'admin', resourceIds: [] }],
    [{ role: 'member', resourceIds: [] }],
  ];
  let compared = 0;
  for (const who of [owner, ada]) {
    const { roles } = (await who.get('/iam/roles')).body;
    const held = (await who.get('/me/rights')).body.permissions;
    for (const scope of scopes) {
      const minted = await who.post('/tokens', {
        name: 'compared',
        ...(scope.length
          ? { scope: scope.map(({ role, resourceIds }) => ({ role, ...(resourceIds.length ? { resourceIds } : {}) })) }
          : {}),
      });
      // A scope beyond what its owner holds or sees is refused; then there is nothing to show.
      if (minted.status === 403 || minted.status === 400) continue;
      assert.equal(minted.status, 201, JSON.stringify(minted.body));
      const allowed = (await caller(qd.url, minted.body.key).get('/me/rights')).body.permissions as Record<string, '*' | string[]>;
      const shown = [...reachOfToken(scope, roles, held)].map(([permission, where]) => [
        permission,
        where === '*' ? '*' : [...where].sort(),
      ]);
      assert.deepEqual(
        Object.fromEntries(shown),
        Object.fromEntries(Object.entries(allowed).map(([permission, where]) => [permission, where === '*' ? '*' : where.toSorted()])),
        `${who.email}: ${JSON.stringify(scope)}`,
      );
      compared++;
    }
  }
  assert.ok(compared >= 10, `only ${compared} were compared`);

  assert.equal(broughtBy('oncall.incident.read', new Set(['oncall.incident.write'])), 'write');
  assert.equal(broughtBy('oncall.incident.write', new Set(['oncall.incident.read', 'oncall.service.write'])), undefined);
});
