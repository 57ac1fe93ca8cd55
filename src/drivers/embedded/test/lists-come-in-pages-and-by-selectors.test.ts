import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../kernel/db/index.ts';
import { configMap, embedded } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const names = (body: { items: { metadata: { name: string } }[] }) => body.items.map(({ metadata }) => metadata.name);

test('lists come in pages and by selectors', async (t) => {
  const { call, deck, options } = await embedded(t);
  for (let n = 0; n < 25; n++)
    await call('POST', maps, configMap(`m${String(n).padStart(2, '0')}`, { n: String(n) }, { odd: String(n % 2), [`n${n}`]: '' }));

  const all: string[] = [];
  let next = '';
  let version = '';
  for (let pieces = 0; pieces === 0 || next; pieces++) {
    const { body } = await call('GET', `${maps}?limit=10${next ? `&continue=${next}` : ''}`);
    all.push(...names(body));
    assert.ok(version === '' || version === body.metadata.resourceVersion, 'all pieces are of one version');
    version = body.metadata.resourceVersion;
    next = body.metadata.continue ?? '';
    assert.ok(pieces < 4);
  }
  assert.equal(all.length, 25);
  assert.equal(new Set(all).size, 25);

  const select = async (query: string) => names((await call('GET', `${maps}?${query}`)).body).length;
  assert.equal(await select('labelSelector=odd%3D1'), 12);
  assert.equal(await select('labelSelector=odd%21%3D1'), 13);
  assert.equal(await select('labelSelector=odd+in+(0,1),n3'), 1);
  assert.equal(await select('labelSelector=%21odd'), 0);
  assert.equal(await select('labelSelector=odd+notin+(0)'), 12);
  assert.equal(await select('labelSelector=odd%3E0'), 12);
  assert.equal(await select('fieldSelector=metadata.name%3Dm07'), 1);
  assert.equal(await select('fieldSelector=metadata.name!%3Dm07'), 24);
  assert.equal(await select('labelSelector=odd%3D1&limit=5'), 5);
  for (const wrong of [
    'labelSelector=a%3D%3D%3Db',
    'labelSelector=((',
    'fieldSelector=data.n%3D1',
    'continue=xyz',
    'resourceVersion=abc',
    `labelSelector=${'a'.repeat(8000)}`,
  ])
    assert.equal((await call('GET', `${maps}?${wrong}`)).status, 400, wrong);
  assert.equal((await call('GET', `${maps}?resourceVersion=99999`)).status, 504);

  const first = (await call('GET', `${maps}?limit=10`)).body;
  await call('POST', maps, configMap('later'));
  await deck.app.db.write((tx) => run(tx)`update clusters.object_space set oldest = version where cluster_id = ${options.clusterId}`);
  const gone = await call('GET', `${maps}?limit=10&continue=${first.metadata.continue}`);
  assert.equal(gone.status, 410);
  assert.equal(gone.body.reason, 'Expired');

  const table = (await call('GET', maps, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' })).body;
  assert.equal(table.kind, 'Table');
  assert.deepEqual(
    table.columnDefinitions.map(({ name }: { name: string }) => name),
    ['Name', 'Data', 'Age'],
  );
  assert.deepEqual(table.rows[1].cells.slice(0, 2), ['m00', 1]);
  assert.equal(table.rows[0].object.kind, 'PartialObjectMetadata');
  const meta = (await call('GET', maps, undefined, { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' })).body;
  assert.equal(meta.kind, 'PartialObjectMetadataList');
  assert.equal(meta.items[0].data, undefined);

  // Kinds that are always empty.
  assert.deepEqual((await call('GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Da')).body.items, []);
});
