import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Catalog,
  defaultVersion,
  embeddedCatalog,
  newestFirst,
  refuseVersion,
  upgradesFrom,
  type VersionState,
} from '../../rules/catalog.ts';
import { allowedSkew, blockingNodes, refuseSkew, refuseStep } from '../../rules/gates.ts';
import { compareVersions, parseVersion } from '../../rules/versions.ts';

const version = fc
  .record({ minor: fc.integer({ min: 20, max: 40 }), patch: fc.integer({ min: 0, max: 12 }), embedded: fc.boolean() })
  .map(({ minor, patch, embedded }) => `v1.${minor}.${patch}${embedded ? '+embedded' : ''}`);
const state = fc.constantFrom<VersionState>('preview', 'supported', 'deprecated', 'expired');
const catalogs: fc.Arbitrary<Catalog> = fc.uniqueArray(fc.record({ version, state }), { selector: (e) => e.version, maxLength: 20 });

test('a version step is allowed exactly when it keeps the driver, does not go back, and crosses at most one minor', () => {
  fc.assert(
    fc.property(version, version, (from, to) => {
      const [a, b] = [parseVersion(from)!, parseVersion(to)!];
      const isAllowed = a.driver === b.driver && compareVersions(b, a) >= 0 && b.minor - a.minor <= 1;
      assert.equal(refuseStep(from, to) === undefined, isAllowed, `${from} → ${to}`);
    }),
  );
});

test('a patch downgrade is a downgrade', () => {
  assert.match(refuseStep('v1.36.4', 'v1.36.3')!, /older than v1\.36\.4, and a control plane never goes back/);
  assert.match(refuseStep('v1.36.0+embedded', 'v1.36.4')!, /keeps its driver/);
  assert.match(refuseStep('v1.34.0+embedded', 'v1.36.0+embedded')!, /go to 1\.35 first/);
});

test('the catalog offers exactly the upgrades that are allowed', () => {
  fc.assert(
    fc.property(catalogs, version, (catalog, from) => {
      const offered = new Set(upgradesFrom(catalog, from).map((e) => e.version));
      for (const entry of catalog) {
        const isWay = entry.state !== 'expired' && entry.version !== from && refuseStep(from, entry.version) === undefined;
        assert.equal(offered.has(entry.version), isWay, `${from} → ${entry.version}`);
      }
    }),
  );
});

test('the default version is supported, and no supported version of its driver is newer', () => {
  fc.assert(
    fc.property(catalogs, (catalog) => {
      const chosen = defaultVersion(catalog);
      const supported = catalog.filter((e) => e.state === 'supported');
      if (chosen === undefined) return assert.equal(supported.length, 0);
      const own = parseVersion(chosen)!;
      assert.ok(supported.some((e) => e.version === chosen));
      for (const e of supported) {
        const other = parseVersion(e.version)!;
        if (other.driver === own.driver) assert.ok(compareVersions(own, other) >= 0);
        else assert.equal(own.driver, 'process', 'Kubernetes’ own binaries come first');
      }
    }),
  );
});

test('unknown and expired versions are refused with a sentence', () => {
  const catalog: Catalog = [{ version: 'v1.33.0', state: 'expired' }, ...embeddedCatalog];
  assert.match(refuseVersion(catalog, 'v1.33.0')!, /expired/);
  assert.match(refuseVersion(catalog, 'latest')!, /not in the version catalog/);
  for (const { version: each } of embeddedCatalog) assert.equal(refuseVersion(catalog, each), undefined);
  assert.deepEqual(
    newestFirst(embeddedCatalog).map((e) => e.version),
    ['v1.36.0+embedded', 'v1.35.0+embedded', 'v1.34.0+embedded'],
  );
});

test('a node blocks an upgrade exactly when it is newer than the target or too old for it; each is named', () => {
  const node = fc.record({ name: fc.stringMatching(/^[a-z]{3,8}$/), minor: fc.integer({ min: 18, max: 40 }) });
  fc.assert(
    fc.property(version, fc.uniqueArray(node, { selector: (n) => n.name, maxLength: 10 }), (to, nodes) => {
      const target = parseVersion(to)!.minor;
      const shown = nodes.map(({ name, minor }) => ({ name, agentVersion: `v1.${minor}.1` }));
      const bad = nodes.filter(({ minor }) => minor > target || target - minor > allowedSkew(minor)).map(({ name }) => name);
      assert.deepEqual(
        blockingNodes(to, shown).map(({ name }) => name),
        bad,
      );
      const sentence = refuseSkew(to, shown);
      assert.equal(sentence === undefined, bad.length === 0);
      for (const name of bad) assert.ok(sentence!.includes(`${name} (v1.`));
    }),
  );
  assert.equal(blockingNodes('v1.36.0+embedded', [{ name: 'silent', agentVersion: '' }]).length, 1, 'what does not say is not passed over');
});
