import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, embedded, openWatch } from './support.ts';

const namespaces = '/api/v1/namespaces';
const merge = { 'content-type': 'application/merge-patch+json' };

test('deleting a namespace or an owner deletes its dependents', async (t) => {
  const { call, port, ca, admin } = await embedded(t);
  await call('POST', namespaces, { metadata: { name: 'team' } });
  const maps = `${namespaces}/team/configmaps`;
  assert.equal((await call('GET', `${namespaces}/team/serviceaccounts/default`)).status, 200);
  // More than one batch, and one object that waits for its finalizer.
  for (let n = 0; n < 210; n += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => call('POST', maps, configMap(`m${n + k}`))));
  const held = { ...configMap('held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } };
  await call('POST', maps, held);

  const emptied = openWatch(port, ca, admin, `${maps}?watch=1`);
  await emptied.until(211);
  const deleting = await call('DELETE', `${namespaces}/team`);
  assert.equal(deleting.status, 200);
  assert.equal(deleting.body.status.phase, 'Terminating');
  const refused = await call('POST', maps, configMap('late'));
  assert.equal(refused.status, 403);
  assert.match(refused.body.message, /because it is being terminated/);
  await emptied.until(211 + 211); // 210 removed, one marked
  assert.equal((await call('GET', maps)).body.items.length, 1);
  assert.ok((await call('GET', `${maps}/held`)).body.metadata.deletionTimestamp);
  assert.equal((await call('GET', `${namespaces}/team`)).status, 200);

  const ended = openWatch(port, ca, admin, `${namespaces}?watch=1&fieldSelector=metadata.name%3Dteam`);
  await ended.until(1);
  await call('PATCH', `${maps}/held`, { metadata: { finalizers: null } }, merge);
  const known = await ended.until(2);
  while (known.at(-1)!.type !== 'DELETED') await ended.until(known.length + 1);
  assert.equal((await call('GET', `${namespaces}/team`)).status, 404);
  assert.equal((await call('DELETE', `${namespaces}/kube-system`)).status, 403);

  // Dependents are deleted with their owner, unless they have another owner or are orphaned.
  const own = `${namespaces}/default/configmaps`;
  const owner = async (name: string) => {
    const { uid } = (await call('POST', own, configMap(name))).body.metadata;
    return { apiVersion: 'v1', kind: 'ConfigMap', name, uid };
  };
  const [one, two, three] = [await owner('one'), await owner('two'), await owner('three')];
  const owned = (name: string, ownerReferences: object[]) => call('POST', own, { ...configMap(name), metadata: { name, ownerReferences } });
  await owned('of-one', [one]);
  await owned('of-both', [one, two]);
  await owned('of-three', [three]);
  const watch = openWatch(port, ca, admin, `${own}?watch=1`);
  await watch.until(6);
  await call('DELETE', `${own}/one`);
  await watch.until(9);
  assert.deepEqual(
    watch.events
      .slice(6)
      .map(({ type, object }) => [type, object.metadata.name])
      .sort(),
    [
      ['DELETED', 'of-one'],
      ['DELETED', 'one'],
      ['MODIFIED', 'of-both'],
    ],
  );
  await call('DELETE', `${own}/three`, { propagationPolicy: 'Orphan' });
  await call('DELETE', `${own}/two`);
  await watch.until(12);
  assert.deepEqual(
    (await call('GET', own)).body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
    ['of-three'],
  );
});
