import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogOf, defaultVersion, embeddedCatalog, findEntry, refuseVersion, upgradesFrom } from '../../rules/catalog.ts';

test('the catalog lists versions of servers, embedded versions, and versions that clusters still run', () => {
  assert.deepEqual(catalogOf([], []), embeddedCatalog, 'without programs there is what npm brings');
  assert.equal(defaultVersion(catalogOf([], [])), 'v1.36.0+embedded');

  const catalog = catalogOf(
    ['v1.34.2', 'v1.36.4', 'v1.35.8', 'v1.36.4', 'not-a-version', 'v1.36.0+embedded'],
    ['v1.33.1', 'v1.35.8', 'v1.35.0+embedded'],
  );
  const stateOf = (version: string) => findEntry(catalog, version)?.state;
  assert.deepEqual(['v1.36.4', 'v1.35.8', 'v1.34.2', 'v1.33.1'].map(stateOf), ['supported', 'supported', 'deprecated', 'expired']);
  assert.equal(catalog.filter(({ version }) => version === 'v1.36.4').length, 1);
  assert.equal(catalog.length, 4 + embeddedCatalog.length);
  assert.equal(defaultVersion(catalog), 'v1.36.4', 'the newest real one before every embedded one');
  assert.equal(defaultVersion(catalogOf(['v1.30.1'], [])), 'v1.30.1', 'also an old one, if it is all there is');

  assert.match(
    refuseVersion(catalog, 'v1.33.1')!,
    /not installed on any shard server any more; the operator runs quarterdeck admin clusters install v1\.33\.1/,
  );
  assert.match(refuseVersion(catalog, 'v1.36.9')!, /no shard server has its programs/);
  assert.equal(refuseVersion(catalog, 'v1.34.2'), undefined);
  assert.deepEqual(
    upgradesFrom(catalog, 'v1.33.1').map(({ version }) => version),
    ['v1.34.2'],
    'a cluster whose version is gone can still go on',
  );
});
