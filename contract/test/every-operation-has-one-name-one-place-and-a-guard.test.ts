import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorsOf, type Op, pathParams } from '../common.ts';
import { contract } from '../index.ts';
import { type Permission, permissions } from '../permissions.ts';

const repeated = (values: string[]) => values.filter((v, i) => values.indexOf(v) !== i);
const idsWhere = (wrong: (op: Op) => boolean) => contract.filter(wrong).map((op) => op.id);

test('names are verb and noun, unique over the whole contract: CLI and SDK are named by them', () => {
  assert.deepEqual(repeated(contract.map((op) => op.id)), []);
  assert.deepEqual(
    idsWhere((op) => !/^[a-z]+([A-Z][a-z0-9]*)+$/.test(op.id)),
    [],
  );
});

test('no two operations share a method and a path', () => {
  assert.deepEqual(repeated(contract.map((op) => `${op.method} ${op.path.replace(/\{[^}]+\}/g, '{}')}`)), []);
});

test('path parameters have names of their own, and typed ones stand in the path', () => {
  for (const op of contract) {
    const names = pathParams(op.path);
    assert.deepEqual(repeated(names), [], op.id);
    assert.equal(op.path.replace(/\{[a-zA-Z]+\}/g, '').match(/[{}:*]/), null, `${op.id}: ${op.path}`);
    for (const name of Object.keys(op.params?.properties ?? {}))
      assert.ok(names.includes(name), `${op.id} types ${name}, which its path has not`);
  }
});

test('every operation is guarded by a permission that exists, by membership, or says that it brings its own credential', () => {
  const known = new Set<string>([...permissions, 'member', 'none']);
  assert.deepEqual(
    idsWhere((op) => !known.has(op.permission)),
    [],
  );
  assert.deepEqual(
    idsWhere((op) => op.credential !== undefined && op.permission !== 'none'),
    [],
  );
  // A new public operation is added here too.
  assert.deepEqual(idsWhere((op) => op.permission === 'none' && !op.credential).sort(), [
    'acceptInvitation',
    'claimDeviceToken',
    'createDeviceCode',
    'exchangeRegistryOidcToken',
  ]);
});

test('every permission opens something, except ownership, which is asked for inside the operations on members', () => {
  const used = new Set(contract.map((op) => op.permission));
  assert.deepEqual(
    permissions.filter((p) => !used.has(p)),
    ['organization.ownership.admin'] satisfies Permission[],
  );
});

test('reading needs no more than the read tier, unless what is read is itself a credential', () => {
  assert.deepEqual(
    idsWhere((op) => op.method === 'GET' && /\.(write|admin)$/.test(op.permission) && !op.secret).sort(),
    // These list who may do what: grants, custom roles and invitations have no read tier. getSecurity names members without a second factor.
    ['getEffectivePermissions', 'getIamCatalog', 'getSecurity', 'listGrants', 'listInvitations'],
  );
});

test('what belongs to a scopable resource is filtered for narrowed subjects', () => {
  const ofOne =
    /^\/(registry\/registries(\/\{slug\}.*)?|email\/(domains|routes|messages|keys)(\/.*)?|clusters(\/\{name\}.*)?|uptime\/(services|monitors)(\/.*)?|oncall\/(services|incidents|alert-sources)(\/.*)?)$/;
  const collection = /^\/(registry\/registries|email\/domains|clusters|uptime\/(services|monitors)|oncall\/services)$/;
  // A new resource is not among those that a token was narrowed to.
  const makesResource = (op: Op) => op.method === 'POST' && collection.test(op.path);
  assert.deepEqual(
    idsWhere((op) => op.permission !== 'none' && ofOne.test(op.path) && !op.scoped),
    idsWhere(makesResource),
  );
  assert.ok(idsWhere(makesResource).includes('createRegistry'));
});

test('an area with an entitlement, such as email and uptime, asks for it everywhere and speaks of a session', () => {
  const entitled = new Set<string>(contract.filter((op) => op.entitlement).map((op) => op.area.name));
  assert.ok(entitled.has('email') && entitled.has('uptime'));
  for (const op of contract) {
    const beta = entitled.has(op.area.name);
    assert.equal(op.entitlement, beta ? op.area.name : undefined, op.id);
    const refusals = errorsOf(op);
    if (op.permission !== 'none') assert.ok(refusals[401]?.startsWith(beta ? 'no valid session' : 'unauthenticated'), op.id);
    for (const status of beta ? [403, 404, 502] : []) assert.ok(refusals[status], `${op.id} declares no ${status}`);
  }
});

test('every operation says in a few words what it does, and answers with one success status', () => {
  for (const op of contract) {
    assert.match(op.summary, /^\S.{2,70}[^.]$/, op.id);
    const statuses = Object.keys(op.responses);
    assert.equal(statuses.length, 1, op.id);
    assert.match(statuses[0]!, /^2/, op.id);
    for (const [status, meaning] of Object.entries(errorsOf(op))) assert.ok(Number(status) >= 400 && meaning, `${op.id} ${status}`);
  }
});
