import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { collect } from '../../engine/gc/collect.ts';
import { expireUploads } from '../../engine/gc/expire-uploads.ts';
import { correctDrift } from '../../engine/quota.ts';
import { removalBatch, removeRepository } from '../../engine/repository-removal.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { maxExtensionIntervalSeconds } from '../../store/uploads.ts';
import { overtaken } from '../lock-race.ts';
import {
  codeOf,
  digestOf,
  imageOf,
  pushBlob,
  pushImage,
  putManifest,
  registryServer,
  someBytes,
  type TestRegistry,
} from '../registry-server.ts';

const { signal } = new AbortController();
const Counts = Type.Object({ rows: Type.Integer(), repositories: Type.Integer() });

/** The remaining content of removed repositories, and their number. */
const left = async ({ app }: Pick<TestRegistry, 'app'>) =>
  (await app.db.read(
    (tx) => row(tx, Counts)`
      with r as (select id from registry.repository where removed_from is not null)
      select ((select count(*) from registry.manifest where repository_id in (select id from r))
            + (select count(*) from registry.tag where repository_id in (select id from r))
            + (select count(*) from registry.upload where repository_id in (select id from r))
            + (select count(*) from registry.repository_blob where repository_id in (select id from r)))::int as rows,
             (select count(*) from r)::int as repositories`,
  ))!;
const used = async ({ app }: Pick<TestRegistry, 'app'>) =>
  (await app.db.read((tx) => row(tx, Type.Object({ used: Type.Integer() }))`select used_bytes as used from registry.registry`))!.used;
/** Whether the registry's figures equal the count. */
const isExact = async ({ app }: Pick<TestRegistry, 'app'>) => !(await app.db.write((tx) => correctDrift(tx, 'reg_acme')));

/** Manifests for several batches, each with a tag, and one with very many tags. */
const enlarge = ({ app }: TestRegistry, name: string, manifests: number, tags: number) =>
  app.db.write(async (tx) => {
    const { id, org_id } = (await repositoryByName(tx, 'reg_acme', name))!;
    await run(tx)`
      insert into registry.manifest (org_id, repository_id, digest, media_type, body, size, weight, content_bytes, pushed_by, created_at)
      select ${org_id}, ${id}, 'sha256:' || lpad(i::text, 64, '0'), 'application/vnd.oci.image.manifest.v1+json', 'x', 1, 1000, 1, 'k', kernel.now()
        from generate_series(1, ${manifests}) i`;
    await run(tx)`
      insert into registry.tag (repository_id, name, manifest_id, updated_at)
      select ${id}, 't' || i, (select min(id) from registry.manifest where repository_id = ${id}), kernel.now() from generate_series(1, ${tags}) i`;
    await correctDrift(tx, 'reg_acme');
  });

test('a repository of several batches is gone at once, and its content batch by batch, also after a restart', async (t) => {
  const first = await registryServer(t);
  const { app, send, engine, connection, dataDir } = first;
  const image = imageOf([someBytes(1000)]);
  const shared = imageOf([someBytes(2000)]);
  await pushImage(send, 'acme/kept', 'v1', shared);
  const keptBytes = await used(first);
  for (const [tag, pushed] of [
    ['v1', image],
    ['v2', shared],
  ] as const)
    await pushImage(send, 'acme/app', tag, pushed);
  await enlarge(first, 'app', 1_200, 900);
  const upload = await send('POST', '/v2/acme/app/blobs/uploads/');
  assert.equal((await send('GET', '/v2/acme/app/manifests/v1')).status, 200);
  const total = 1_200 + 900 + 2 + 2 + 4 + 1;

  assert.ok(await app.db.write((tx) => removeRepository(tx, app.caches, 'reg_acme', 'app')));
  assert.deepEqual(await left(first), { rows: total - removalBatch.rows, repositories: 1 }, 'one portion goes with the request');
  assert.ok(await isExact(first), 'what is left counts until it goes');

  await t.test('no name and no list finds it meanwhile', async () => {
    for (const path of ['manifests/v1', `manifests/${image.digest}`, `blobs/${digestOf(image.blobs[1]!)}`, 'tags/list'])
      assert.equal((await send('GET', `/v2/acme/app/${path}`)).status, 404, path);
    assert.deepEqual((await send('GET', '/v2/_catalog')).json(), { repositories: ['acme/kept'] });
    assert.equal((await send('PATCH', upload.headers.location!, { body: someBytes(10) })).status, 404, 'nor its upload');
    const digest = await pushBlob(send, 'acme/kept', someBytes(10));
    const mounted = await send('POST', `/v2/acme/other/blobs/uploads/?mount=${digestOf(image.blobs[1]!)}&from=acme/app`);
    assert.equal(mounted.status, 202, 'nothing is mounted from it');
    await send('DELETE', mounted.headers.location!);
    await send('DELETE', `/v2/acme/kept/blobs/${digest}`);
    assert.equal(await app.db.write((tx) => removeRepository(tx, app.caches, 'reg_acme', 'app')), false);
  });

  await t.test('its name is free', async () => {
    await pushImage(send, 'acme/app', 'new', image);
    assert.equal((await send('GET', '/v2/acme/app/manifests/new')).status, 200);
    assert.equal((await send('GET', '/v2/acme/app/manifests/v2')).status, 404);
    assert.ok(await isExact(first));
  });

  await collect(engine, signal, app.log, 1);
  const before = await left(first);
  assert.equal(before.rows, total - 2 * removalBatch.rows, 'a batch a transaction');
  // A server that ended between two batches.
  const second = await registryServer(t, { connection, dataDir });
  await collect(second.engine, signal, second.app.log);
  assert.deepEqual(await left(second), { rows: 1, repositories: 1 }, 'the upload waits for its bytes');
  await app.db.write((tx) => moveClock(tx, maxExtensionIntervalSeconds));
  assert.equal(await expireUploads(second.app, signal), 1);
  await collect(second.engine, signal, second.app.log);
  assert.deepEqual(await left(second), { rows: 0, repositories: 0 });
  assert.ok(await isExact(second));
  for (const path of ['kept/manifests/v1', 'app/manifests/new']) assert.equal((await second.send('GET', `/v2/acme/${path}`)).status, 200);
  for (const [name, { blobs }] of [
    ['kept', shared],
    ['app', image],
  ] as const)
    for (const blob of blobs)
      assert.equal((await second.send('GET', `/v2/acme/${name}/blobs/${digestOf(blob)}`)).status, 200, 'shared layers stay');
  assert.ok(await app.db.write((tx) => removeRepository(tx, app.caches, 'reg_acme', 'app')));
  assert.equal(await used(first), keptBytes, 'a small one is gone with the request');
});

test('batches of large manifests are limited by weight', async (t) => {
  const server = await registryServer(t);
  const { app, send, engine } = server;
  await pushImage(send, 'acme/app', 'v1', imageOf([someBytes(10)]));
  await enlarge(server, 'app', 10, 0);
  await app.db.write((tx) => run(tx)`update registry.manifest set weight = ${removalBatch.manifestBytes / 2} where weight = 1000`);
  await app.db.write((tx) => correctDrift(tx, 'reg_acme'));
  await app.db.write((tx) => removeRepository(tx, app.caches, 'reg_acme', 'app'));
  const { rows } = await left(server);
  assert.ok(rows >= 8, String(rows));
  await collect(engine, signal, app.log);
  assert.deepEqual(await left(server), { rows: 0, repositories: 0 });
  assert.equal(await used(server), 0);
});

test('a push overtaken by a removal stores nothing in the removed repository', async (t) => {
  const server = await registryServer(t);
  const { app, send } = server;
  const remove = (name: string) => (tx: Parameters<typeof removeRepository>[0]) => removeRepository(tx, app.caches, 'reg_acme', name);
  const one = imageOf([someBytes(10)]);

  await pushImage(send, 'acme/manifest', 'v1', one);
  await enlarge(server, 'manifest', 1_000, 0);
  const next = { ...one, ...imageOf([one.blobs[1]!], { annotations: { next: 'yes' } }) };
  const put = await overtaken(app, remove('manifest'), () => putManifest(send, 'acme/manifest', 'v2', next));
  assert.equal(put.status, 404);
  assert.equal(codeOf(put), 'MANIFEST_BLOB_UNKNOWN', 'the repository is a new one, without its layers');

  await pushImage(send, 'acme/blob', 'v1', one);
  await enlarge(server, 'blob', 1_000, 0);
  const start = await send('POST', '/v2/acme/blob/blobs/uploads/');
  const bytes = someBytes(20);
  const digest = digestOf(bytes);
  const ended = await overtaken(app, remove('blob'), () => send('PUT', `${start.headers.location}?digest=${digest}`, { body: bytes }));
  assert.ok([404, 409].includes(ended.status), `${ended.status} ${ended.body}`);
  assert.equal(
    await app.db.read(
      (tx) => run(tx)`select from registry.blob b join registry.repository_blob l on l.blob_id = b.id where b.digest = ${digest}`,
    ),
    0,
  );

  await pushImage(send, 'acme/mount', 'v1', imageOf([someBytes(10)]));
  await enlarge(server, 'mount', 1_000, 0);
  const held = await pushBlob(send, 'acme/kept', bytes);
  const mounted = await overtaken(app, remove('mount'), () => send('POST', `/v2/acme/mount/blobs/uploads/?mount=${held}&from=acme/kept`));
  assert.equal(mounted.status, 503, String(mounted.body));
  assert.equal(
    (await send('POST', `/v2/acme/mount/blobs/uploads/?mount=${held}&from=acme/kept`)).status,
    201,
    'into a new repository of its name',
  );

  await pushImage(send, 'acme/begin', 'v1', one);
  await enlarge(server, 'begin', 1_000, 0);
  const begun = await overtaken(app, remove('begin'), () => send('POST', '/v2/acme/begin/blobs/uploads/'));
  assert.ok([202, 404].includes(begun.status), `${begun.status} ${begun.body}`);
  assert.equal(
    await app.db.read(
      (tx) =>
        run(
          tx,
        )`select from registry.upload u join registry.repository r on r.id = u.repository_id where r.removed_from is not null and r.name = 'begin'`,
    ),
    0,
  );
  await app.db.write((tx) => moveClock(tx, maxExtensionIntervalSeconds));
  await expireUploads(app, signal);
  await collect(server.engine, signal, app.log);
  assert.deepEqual(await left(server), { rows: 0, repositories: 0 });
  assert.ok(await isExact(server));
});
