import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { collect } from '../../engine/gc/collect.ts';
import { countRepositories, keepFigures } from '../../engine/gc/figures.ts';
import { repositoriesOf } from '../../store/images.ts';
import { imageOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

const { signal } = new AbortController();
const CountedRow = Type.Object({ size_bytes: Type.Integer(), tag_count: Type.Integer() });
const PendingRow = Type.Object({ pending: Type.Integer(), kept: Type.Union([Type.Integer(), Type.Null()]) });

test('the figures of a repository are updated on change, and the list only reads them', async (t) => {
  const { send, app, engine } = await registryServer(t, { settings: { gcDelaySeconds: 0 } });
  const listed = async () => {
    const [only] = await app.db.read((tx) => repositoriesOf(tx, 'org_test', 'reg_acme', { limit: 10, after: null }));
    return { size_bytes: only!.size_bytes, tag_count: only!.tag_count };
  };
  const counted = () =>
    app.db.read(
      (tx) => row(tx, CountedRow)`
        select ((select coalesce(sum(size), 0) from registry.manifest)
                + (select coalesce(sum(b.size), 0) from registry.repository_blob l join registry.blob b on b.id = l.blob_id))::bigint as size_bytes,
               (select count(*) from registry.tag)::int as tag_count`,
    );
  const check = async (why: string) => assert.deepEqual(await listed(), await counted(), why);
  const shared = someBytes(1_000);
  const [one, two] = [imageOf([shared, someBytes(300)]), imageOf([shared, someBytes(70)])];
  await pushImage(send, 'acme/app', 'v1', one);
  await pushImage(send, 'acme/app', 'v2', two);
  await check('two images that share a layer');
  await pushImage(send, 'acme/app', 'v2', two);
  for (const tag of ['v1', 'latest', 'stable']) assert.equal((await putManifest(send, 'acme/app', tag, two)).status, 201);
  await check('pushed again, and under more tags, one of which moves');
  await keepFigures(app, signal);
  await check('added up');
  assert.equal((await send('DELETE', '/v2/acme/app/manifests/stable')).status, 202);
  await check('a tag less');
  assert.equal((await send('DELETE', `/v2/acme/app/manifests/${two.digest}`)).status, 202);
  await check('an image less, and its tags');
  await collect(engine, signal, app.log);
  await check('its layers went too');
  await keepFigures(app, signal);
  await check('and all of it is added up');
  const { pending, kept } = (await app.db.read(
    (tx) => row(tx, PendingRow)`
      select (select count(*) from registry.repository_change)::int as pending, (select size_bytes from registry.repository) as kept`,
  ))!;
  assert.deepEqual([pending, kept], [0, (await counted())!.size_bytes]);

  // Old data, before the first count.
  await app.db.write((tx) => run(tx)`update registry.repository set size_bytes = null, tag_count = null`);
  await check('counted by the query');
  await pushImage(send, 'acme/app', 'v3', imageOf([someBytes(50)]));
  await keepFigures(app, signal);
  await check('counted by the task');
  await app.db.write((tx) => run(tx)`update registry.repository set size_bytes = 7`);
  await pushImage(send, 'acme/app', 'v4', imageOf([someBytes(51)]));
  assert.equal(await countRepositories(app, signal, false), 1);
  await check('put right by the scrub, with something noted that is not added yet');

  // The list reads no manifests or links.
  const before = await listed();
  await app.db.write((tx) => run(tx)`delete from registry.repository_blob`);
  assert.deepEqual(await listed(), before);
});
