import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { embeddedCatalog } from '../../rules/catalog.ts';
import { isRefused, limitationsOf, newSpec, type Patch, planChange, type Spec } from '../../rules/spec.ts';

const sizes = fc.constantFrom('db-small', 'db-medium', 'db-large');
const versions = fc.constantFrom('v1.34.0+embedded', 'v1.35.0+embedded', 'v1.36.0+embedded', 'v1.36.4', 'v9.9.9');
const tiers = fc.constantFrom('small', 'medium', 'large', 'huge');
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const defined = <T extends object>(value: T): T => Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as T;

const store = fc
  .record({
    size: maybe(sizes),
    storageGiB: maybe(fc.integer({ min: 1, max: 1024 })),
    replicas: maybe(fc.integer({ min: 1, max: 9 })),
    backups: maybe(fc.boolean()),
  })
  .map(defined) as fc.Arbitrary<NonNullable<Patch['datastore']>>;
const patches = fc
  .record({
    orchestratorVersion: maybe(versions),
    tier: maybe(tiers),
    replicas: maybe(fc.integer({ min: 1, max: 9 })),
    managedLoadBalancers: maybe(fc.record({ enabled: fc.boolean() })),
    datastore: maybe(store),
  })
  .map(defined) as fc.Arbitrary<Patch>;
const specs: fc.Arbitrary<Spec> = fc
  .record({
    tier: fc.constantFrom('small', 'medium', 'large'),
    version: fc.constantFrom(...embeddedCatalog.map((e) => e.version)),
    mode: fc.constantFrom('shared' as const, 'dedicated' as const),
    replicas: fc.integer({ min: 1, max: 9 }),
  })
  .map(
    ({ tier, version, mode, replicas }) =>
      newSpec(embeddedCatalog, { tier, orchestratorVersion: version, replicas, datastore: { mode } }) as Spec,
  );

test('a change applies completely or not at all, and keeps fields that it does not name', () => {
  fc.assert(
    fc.property(specs, patches, (current, patch) => {
      const planned = planChange(embeddedCatalog, current, patch);
      if (isRefused(planned)) return assert.ok(planned.why.length > 20 && [400, 409].includes(planned.status));
      const { spec } = planned;
      assert.equal(spec.version, patch.orchestratorVersion ?? current.version);
      assert.equal(spec.tier, patch.tier ?? current.tier);
      assert.equal(spec.replicas, patch.replicas ?? current.replicas);
      assert.equal(spec.mesh, current.mesh);
      assert.deepEqual(spec.datastore, { ...current.datastore, ...patch.datastore }, 'a datastore merges');
      assert.equal(spec.datastore.mode, current.datastore.mode);
      assert.equal(planned.changes.length === 0, JSON.stringify(spec) === JSON.stringify(current) || planned.changes.length === 0);
      assert.equal(planned.needsNodeCheck, spec.version !== current.version);
      if (current.datastore.storageGiB !== undefined) assert.ok(spec.datastore.storageGiB! >= current.datastore.storageGiB);
    }),
  );
});

test('an empty change and a change to the same values change nothing', () => {
  fc.assert(
    fc.property(specs, (current) => {
      for (const patch of [{}, { tier: current.tier, replicas: current.replicas, orchestratorVersion: current.version, datastore: {} }]) {
        const planned = planChange(embeddedCatalog, current, patch);
        assert.ok(!isRefused(planned));
        assert.deepEqual(planned.changes, []);
        assert.deepEqual(planned.spec, current);
      }
    }),
  );
});

test('validation errors come before conflicts, and defaults are the documented ones', () => {
  const current = newSpec(embeddedCatalog, { tier: 'medium' }) as Spec;
  assert.deepEqual(current, {
    version: 'v1.36.0+embedded',
    tier: 'medium',
    replicas: 1,
    mesh: false,
    datastore: { mode: 'shared' },
    loadBalancers: false,
  });
  assert.deepEqual((newSpec(embeddedCatalog, { tier: 'small', datastore: { mode: 'dedicated', storageGiB: 50 } }) as Spec).datastore, {
    mode: 'dedicated',
    size: 'db-small',
    storageGiB: 50,
    replicas: 1,
    backups: true,
  });
  const both = planChange(embeddedCatalog, current, { orchestratorVersion: 'v1.35.0+embedded', tier: 'huge' });
  assert.ok(isRefused(both) && both.status === 400, 'the unknown tier, not the downgrade');
  const shrunk = planChange(
    embeddedCatalog,
    { ...current, datastore: { mode: 'dedicated', storageGiB: 20 } },
    { datastore: { storageGiB: 10 } },
  );
  assert.ok(isRefused(shrunk) && /may grow, never shrink/.test(shrunk.why));
});

test('accepted fields without effect are listed as limitations', () => {
  const asked = {
    ...(newSpec(embeddedCatalog, { tier: 'small' }) as Spec),
    mesh: true,
    loadBalancers: true,
    replicas: 3,
    datastore: { mode: 'dedicated' as const },
  };
  const said = limitationsOf(asked, { hasAddresses: true, mesh: undefined, members: undefined }).join('\n');
  for (const word of ['mesh:', 'managedLoadBalancers:', 'replicas:', 'datastore:', 'workloads:']) assert.ok(said.includes(word), word);
  // Programs have load balancers as soon as the operator has addresses for them.
  const ofPrograms = { ...asked, version: 'v1.36.4' };
  const isNamed = (hasAddresses: boolean) =>
    limitationsOf(ofPrograms, { hasAddresses, mesh: undefined, members: undefined }).some((each) =>
      each.startsWith('managedLoadBalancers:'),
    );
  assert.deepEqual([isNamed(false), isNamed(true)], [true, false]);
});
