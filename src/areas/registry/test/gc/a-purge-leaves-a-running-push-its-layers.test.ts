import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run, type Tx } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { collect } from '../../engine/gc/collect.ts';
import { scrub } from '../../engine/gc/scrub.ts';
import { purgeManifest } from '../../engine/purge.ts';
import { correctDrift } from '../../engine/quota.ts';
import { parseManifest, weightOf } from '../../rules/manifest.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { overtaken } from '../lock-race.ts';
import {
  codeOf,
  digestOf,
  type Image,
  imageOf,
  pushBlob,
  pushImage,
  putManifest,
  registryServer,
  someBytes,
  type TestRegistry,
} from '../registry-server.ts';

const { signal } = new AbortController();
const hour = 3_600;

const purge = ({ app }: TestRegistry, repository: string, image: Image) =>
  app.db.write(async (tx) =>
    purgeManifest(tx, app.caches, (await repositoryByName(tx, 'reg_acme', repository))!, image.digest, {
      delaySeconds: 0,
      graceSeconds: 0,
    }),
  );
const used = async ({ app }: TestRegistry) =>
  (await app.db.read((tx) => row(tx, Type.Object({ used: Type.Integer() }))`select used_bytes as used from registry.registry`))!.used;
const stored = async ({ app }: TestRegistry) => (await Array.fromAsync(app.storage.list('sha256/'))).length;
const addsUp = async ({ app }: TestRegistry) => assert.equal(await app.db.write((tx) => correctDrift(tx, 'reg_acme')), false);

test('a layer that a push was told of is there for its image, whatever is purged meanwhile', async (t) => {
  const one = await registryServer(t);
  const two = await registryServer(t, { connection: one.connection, dataDir: one.dataDir });
  const servers = [one, two];
  const layer = someBytes(1_000);

  const told = {
    'by HEAD': async (name: string) => assert.equal((await two.send('HEAD', `/v2/${name}/blobs/${digestOf(layer)}`)).status, 200),
    'by a mount': async (name: string) =>
      assert.equal((await two.send('POST', `/v2/${name}/blobs/uploads/?mount=${digestOf(layer)}&from=acme/source`)).status, 201),
    'by the end of an upload': async (name: string) => void (await pushBlob(two.send, name, layer)),
  };
  await pushImage(one.send, 'acme/source', 'v1', imageOf([layer]));
  for (const [how, tell] of Object.entries(told)) {
    const repository = `app-${how.replaceAll(' ', '-').toLowerCase()}`;
    const name = `acme/${repository}`;
    const before = await used(one);
    const old = imageOf([layer, someBytes(500)]);
    await pushImage(one.send, name, 'old', old);
    await one.app.db.write((tx) => moveClock(tx, 30 * 24 * hour));
    // A client pushes another image with the layer through the second server; the old image is purged before the new manifest arrives.
    const next = imageOf([layer], { annotations: { how } });
    await pushBlob(two.send, name, next.blobs[0]!);
    await tell(name);
    await purge(one, repository, old);
    for (const { app, engine } of servers) await collect(engine, signal, app.log);
    assert.equal(await used(one), before, 'the room is free at once');
    await addsUp(one);
    assert.equal((await one.send('GET', `/v2/${name}/blobs/${digestOf(layer)}`)).status, 404, 'and it is invisible');
    await one.app.db.write((tx) => moveClock(tx, 20 * hour));
    for (const { app, engine } of servers) await collect(engine, signal, app.log);
    await scrub(one.engine, signal, one.app.log);

    const put = await putManifest(two.send, name, 'next', next);
    assert.equal(put.status, 201, `told ${how}: ${put.body}`);
    for (const { app, engine } of servers) await collect(engine, signal, app.log);
    for (const { send } of servers)
      for (const blob of next.blobs) assert.ok((await send('GET', `/v2/${name}/blobs/${digestOf(blob)}`)).body.equals(blob));
    assert.equal(
      await used(one),
      before + weightOf(parseManifest(next.body, next.type), next.body.length),
      'what the registry has elsewhere counts once',
    );
    await addsUp(one);
  }
});

test('a promise counts nothing, ends with the delay, and is not made beyond the quota', async (t) => {
  const server = await registryServer(t);
  const { send, app, engine } = server;
  const later = (seconds: number) => app.db.write((tx) => moveClock(tx, seconds));
  const work = () => collect(engine, signal, app.log);
  const image = (bytes: number) => imageOf([someBytes(bytes)]);

  // No client was told of the layer for a day: it goes with the purge.
  const old = image(100);
  await pushImage(send, 'acme/app', 'v1', old);
  await later(25 * hour);
  await purge(server, 'app', old);
  await work();
  assert.deepEqual([await used(server), await stored(server)], [0, 0]);

  // A client was just told of it: the quota is free at once, and the bytes are deleted when the push cannot be running any more.
  const young = image(100);
  await pushImage(send, 'acme/app', 'v1', young);
  await purge(server, 'app', young);
  await work();
  assert.deepEqual([await used(server), await stored(server)], [0, 2]);
  await later(23 * hour);
  await work();
  assert.equal(await stored(server), 2);
  await later(2 * hour);
  await work();
  assert.equal(await stored(server), 0);
  const put = await putManifest(send, 'acme/app', 'v1', young);
  assert.deepEqual([put.status, codeOf(put)], [404, 'MANIFEST_BLOB_UNKNOWN']);
  await scrub(engine, signal, app.log);
  assert.equal(await app.db.read((tx) => run(tx)`select from registry.promised_blob`), 0);

  // If other pushes took the quota meanwhile, the push is refused.
  const large = image(10_000);
  await pushImage(send, 'acme/app', 'v1', large);
  await purge(server, 'app', large);
  await work();
  await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = 5000`);
  const full = await putManifest(send, 'acme/app', 'v1', large);
  assert.deepEqual([full.status, codeOf(full)], [403, 'DENIED']);
  assert.equal(await used(server), 0);
  await addsUp(server);

  // Repeated pushes and purges take at most the quota once more.
  await later(25 * hour);
  await work();
  for (let i = 0; i < 5; i++) {
    const more = image(2_000);
    await pushImage(send, 'acme/app', 'v1', more);
    await purge(server, 'app', more);
    await work();
    assert.equal(await used(server), 0);
  }
  const bytes = (await Array.fromAsync(app.storage.list('sha256/'))).reduce((sum, o) => sum + o.size, 0);
  assert.ok(bytes <= 5_000, `${bytes} are kept`);
});

test('a purge and the image that needs the same layer do not overtake each other', async (t) => {
  const server = await registryServer(t);
  const { send, app, engine } = server;
  const layer = someBytes(100);
  const [old, next] = [imageOf([layer]), imageOf([layer], { annotations: { next: '1' } })];
  await pushImage(send, 'acme/app', 'old', old);
  await app.db.write((tx) => moveClock(tx, 30 * 24 * hour)); // so there is no promise to redeem
  await purge(server, 'app', old);
  // The push has read its layers and not committed yet: garbage collection waits for it and sees the image.
  const holdLinks = (tx: Tx) => run(tx)`select from registry.repository_blob for share`;
  const store = (tx: Tx) => run(tx)`
    with m as (insert into registry.manifest (org_id, repository_id, digest, media_type, body, size, created_at)
               select org_id, id, ${next.digest}, ${next.type}, ${next.body}, ${next.body.length}, kernel.now() from registry.repository
               returning id, repository_id)
    insert into registry.manifest_blob select m.id, m.repository_id, d, 1 from m, unnest(${next.blobs.map((b) => digestOf(b))}::text[]) d`;
  await overtaken(app, holdLinks, () => collect(engine, signal, app.log), store);
  for (const blob of next.blobs) assert.equal((await send('GET', `/v2/acme/app/blobs/${digestOf(blob)}`)).status, 200);

  // In the other order the push waits for garbage collection and is refused, instead of being stored without its layer.
  await send('DELETE', `/v2/acme/app/manifests/${next.digest}`);
  const takeLinks = (tx: Tx) => run(tx)`delete from registry.repository_blob`;
  const late = await overtaken(app, takeLinks, () => putManifest(send, 'acme/app', 'next', next));
  assert.deepEqual([late.status, codeOf(late)], [404, 'MANIFEST_BLOB_UNKNOWN']);
});
