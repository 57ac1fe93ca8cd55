import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { builtinRoles, implied, type Permission, permissions } from '../../../contract/permissions.ts';
import type { Visible } from '../../kernel/sql.ts';
import { covers, type Grants, grantsOf, intersect, narrow, type RoleUse } from '../rules/grants.ts';

const ids = ['svc_1', 'svc_2', 'svc_3'];
const custom = { rol_1: ['uptime.service.write', 'oncall.incident.read'], rol_2: ['registry.key.admin', 'an.unknown.atom'], rol_3: [] };

const use: fc.Arbitrary<RoleUse> = fc.record({
  role: fc.constantFrom(...builtinRoles.map((r) => r.id), ...Object.keys(custom), 'rol_deleted'),
  resourceIds: fc.subarray(ids),
});
const uses = fc.array(use, { maxLength: 4 });
const visible: fc.Arbitrary<Visible> = fc.oneof(
  fc.constant('*' as const),
  fc.subarray(ids, { minLength: 1 }).map((s) => new Set(s)),
);
const grants: fc.Arbitrary<Grants> = fc
  .array(fc.tuple(fc.constantFrom(...permissions.slice(0, 12)), visible), { maxLength: 8 })
  .map((entries) => new Map(entries));

const same = (a: Grants, b: Grants) => covers(a, b) && covers(b, a);
const law = <T>(
  name: string,
  arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> } & fc.Arbitrary<unknown>[],
  holds: (...given: never[]) => boolean,
) => test(name, () => fc.assert(fc.property(...(arbitraries as [fc.Arbitrary<unknown>]), holds as never), { numRuns: 500 }));

law(
  'covers is reflexive and transitive',
  [grants, grants, grants],
  (a: Grants, b: Grants, c: Grants) => covers(a, a) && (!(covers(a, b) && covers(b, c)) || covers(a, c)),
);
law(
  'intersect is what both hold: below each, and no smaller than anything else below both',
  [grants, grants, grants],
  (a: Grants, b: Grants, c: Grants) => {
    const both = intersect(a, b);
    return covers(a, both) && covers(b, both) && (!(covers(a, c) && covers(b, c)) || covers(both, c));
  },
);
law(
  'intersect does not depend on order or repetition',
  [grants, grants, grants],
  (a: Grants, b: Grants, c: Grants) =>
    same(intersect(a, b), intersect(b, a)) &&
    same(intersect(a, a), a) &&
    same(intersect(intersect(a, b), c), intersect(a, intersect(b, c))),
);
law('an intersection holds no atom without a resource', [grants, grants], (a: Grants, b: Grants) =>
  [...intersect(a, b).values()].every((v) => v === '*' || v.size > 0),
);
law(
  'narrow never widens: not beyond the owner, not beyond any scope',
  [uses, fc.array(uses, { maxLength: 3 })],
  (owner: RoleUse[], scopes: RoleUse[][]) => {
    const held = narrow(grantsOf(owner, custom), scopes, custom);
    return covers(grantsOf(owner, custom), held) && scopes.filter((s) => s.length).every((s) => covers(grantsOf(s, custom), held));
  },
);
law(
  'one scope more never gives more',
  [uses, fc.array(uses, { maxLength: 2 }), uses],
  (owner: RoleUse[], scopes: RoleUse[][], more: RoleUse[]) => {
    const held = grantsOf(owner, custom);
    return covers(narrow(held, scopes, custom), narrow(held, [...scopes, more], custom));
  },
);
law(
  'an owner who loses roles never gains by it, whatever the scope',
  [uses, uses, uses],
  (kept: RoleUse[], lost: RoleUse[], scope: RoleUse[]) =>
    covers(narrow(grantsOf([...kept, ...lost], custom), [scope], custom), narrow(grantsOf(kept, custom), [scope], custom)),
);
law(
  'grants add up: a role more never takes anything away',
  [uses, use],
  (held: RoleUse[], more: RoleUse) =>
    covers(grantsOf([...held, more], custom), grantsOf(held, custom)) &&
    covers(grantsOf([...held, more], custom), grantsOf([more], custom)),
);

test('everywhere is more than somewhere, and somewhere more than elsewhere', () => {
  const on = (held: Visible): Grants => new Map([['uptime.service.read', held]]);
  const [everywhere, one, two, both] = [on('*'), on(new Set(['svc_1'])), on(new Set(['svc_2'])), on(new Set(['svc_1', 'svc_2']))];
  assert.ok(covers(everywhere, both) && covers(both, one) && covers(everywhere, everywhere) && covers(one, new Map()));
  for (const [all, part] of [
    [one, everywhere],
    [both, everywhere],
    [one, two],
    [one, both],
    [new Map() as Grants, one],
  ] as const) {
    assert.equal(covers(all, part), false);
  }
  assert.deepEqual(intersect(everywhere, one), one);
  assert.deepEqual(intersect(both, two), two);
  assert.equal(intersect(one, two).size, 0);
});

test('a scope that is empty does not narrow; one whose roles are all dead leaves nothing', () => {
  const owner = grantsOf([{ role: 'owner', resourceIds: [] }], {});
  assert.ok(same(narrow(owner, [[]], {}), owner));
  assert.equal(narrow(owner, [[{ role: 'rol_deleted', resourceIds: [] }]], {}).size, 0);
  for (const role of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
    assert.equal(grantsOf([{ role, resourceIds: [] }], {}).size, 0);
});

test('owner holds everything, admin everything but ownership, member nothing; a tier brings the lower ones with it', () => {
  const of = (role: string) => grantsOf([{ role, resourceIds: [] }], {});
  assert.deepEqual([...of('owner').keys()].sort(), [...permissions].sort());
  assert.deepEqual(
    permissions.filter((p) => !of('admin').has(p)),
    ['organization.ownership.admin'],
  );
  assert.equal(of('member').size, 0);
  assert.ok(covers(of('owner'), of('admin')) && !covers(of('admin'), of('owner')));
  const ofServices = new Set(builtinRoles.flatMap((r) => r.service ?? []));
  assert.ok(ofServices.has('registry'));
  for (const service of ofServices) {
    assert.ok(covers(of(`${service}.admin`), of(`${service}.editor`)) && covers(of(`${service}.editor`), of(`${service}.viewer`)));
    assert.ok([...of(`${service}.admin`).keys()].every((p) => p.startsWith(`${service}.`)));
  }
  const atoms = grantsOf([{ role: 'x', resourceIds: [] }], { x: ['registry.image.admin'] });
  assert.deepEqual([...atoms.keys()].sort(), ['registry.image.admin', 'registry.image.read', 'registry.image.write']);
  for (const p of permissions) assert.ok(implied(p).includes(p as Permission));
});
