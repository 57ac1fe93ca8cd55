import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import type { App } from '../../../../kernel/app.ts';
import { run, type Tx } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { storeManifest } from '../../engine/push/store-manifest.ts';
import { parseManifest } from '../../rules/manifest.ts';
import { registryIds } from '../../store/collect.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { basic } from '../credentials.ts';
import { overtaken } from '../lock-race.ts';
import { imageOf, indexOf, pushImage, putManifest, registryServer, type Send, sender, someBytes } from '../registry-server.ts';

const { signal } = new AbortController();
const layer = someBytes(10);
const image = (i: number) => imageOf([layer], { annotations: { i: String(i) } });
// The locks that a push holds on the manifest, and its next step.
const holdImage = (digest: string) => (tx: Tx) => run(tx)`select from registry.manifest where digest = ${digest} for key share`;
const tagImage = (digest: string, tag: string) => (tx: Tx) =>
  run(tx)`insert into registry.tag select repository_id, ${tag}, id, kernel.now() from registry.manifest where digest = ${digest}`;

test('a manifest pushed during retention stays', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const govern = (retention: object) =>
    app.db.write((tx) => run(tx)`update registry.registry set retention = ${JSON.stringify(retention)}::jsonb`);
  const onDelete = async (act: () => Promise<unknown>) => {
    let first = true;
    const outside = AsyncLocalStorage.snapshot(); // the other client runs outside of this context
    // A deletion drops the caches in its transaction.
    const drop: App['caches']['drop'] = async (tx, topic) => {
      await app.caches.drop(tx, topic);
      if (!first) return;
      first = false;
      await outside(act);
    };
    await retain({ ...engine, app: { ...app, caches: { ...app.caches, drop } } }, signal, app.log);
    assert.equal(first, false);
  };
  const digestAt = async (name: string, reference: string) =>
    (await send('HEAD', `/v2/${name}/manifests/${reference}`)).headers['docker-content-digest'];

  for (const tag of ['ci-0', 'ci-1']) await pushImage(send, 'acme/a', tag, image(0));
  await govern({ rules: [{ tags: 'ci-*', keepLast: 0 }] });
  await onDelete(async () => assert.equal((await putManifest(send, 'acme/a', 'ci-1', image(1))).status, 201));
  assert.equal(await digestAt('acme/a', 'ci-0'), undefined);
  assert.equal(await digestAt('acme/a', 'ci-1'), image(1).digest, 'a tag that moved');

  await pushImage(send, 'acme/b', 'ci-2', image(2));
  await onDelete(() => govern({}));
  assert.equal(await digestAt('acme/b', 'ci-2'), image(2).digest, 'the rules are gone');

  await govern({ untaggedDays: 1 });
  await pushImage(send, 'acme/b', image(3).digest, image(3));
  await app.db.write((tx) => moveClock(tx, 2 * 86_400));
  await overtaken(app, holdImage(image(3).digest), () => retain(engine, signal, app.log), tagImage(image(3).digest, 'new'));
  assert.equal(await digestAt('acme/b', 'new'), image(3).digest, 'an image that was tagged');
});

test('an image that gets an immutable tag meanwhile is not deleted', async (t) => {
  const { send, app } = await registryServer(t);
  await app.db.write((tx) => run(tx)`update registry.registry set immutable_tags = ${['v*']}`);
  const { digest } = image(0);
  await pushImage(send, 'acme/app', 'latest', image(0));
  const deleted = await overtaken(app, holdImage(digest), () => send('DELETE', `/v2/acme/app/manifests/${digest}`), tagImage(digest, 'v1'));
  assert.equal(deleted.status, 403);
  assert.equal((await send('HEAD', '/v2/acme/app/manifests/v1')).status, 200);
});

test('an image that is tagged or listed meanwhile is not purged', async (t) => {
  const { owner, url, app } = await quarterdeck(t);
  const at = '/registry/registries/acme';
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post(`${at}/keys`, { name: 'ci', mode: 'readwrite' })).body;
  const anonymous = sender(url);
  const send: Send = (method, path, options) =>
    anonymous(method, path, { ...options, headers: { ...options?.headers, Authorization: basic(keyId, secret) }, as: null });
  const status = async (reference: string) => (await send('HEAD', `/v2/acme/app/manifests/${reference}`)).status;
  const child = image(0);
  await pushImage(send, 'acme/app', 'v1', child);

  const tagged = await overtaken(
    app,
    holdImage(child.digest),
    () => owner.delete(`${at}/tags?repo=app&tag=v1&purge=true`),
    tagImage(child.digest, 'v2'),
  );
  assert.deepEqual(tagged.body, { purged: false });
  assert.equal(await status('v2'), 200);

  const pushIndex = (index: ReturnType<typeof indexOf>) => async (tx: Tx) => {
    const [registryId] = await registryIds(tx);
    const repository = (await repositoryByName(tx, registryId!, 'app'))!;
    const parsed = parseManifest(index.body, index.type);
    await storeManifest(tx, app.caches, { repository, digest: index.digest, body: index.body, parsed, tags: ['all'], by: 'test' });
  };
  const listed = await overtaken(app, pushIndex(indexOf([child])), () => owner.delete(`${at}/manifests?repo=app&digest=${child.digest}`));
  assert.equal(listed.status, 409);
  assert.equal(await status(child.digest), 200);

  // A purge descends into an index; a child tagged meanwhile stays.
  await send('DELETE', '/v2/acme/app/manifests/v2');
  const purged = await overtaken(
    app,
    holdImage(child.digest),
    () => owner.delete(`${at}/tags?repo=app&tag=all&purge=true`),
    tagImage(child.digest, 'v3'),
  );
  assert.deepEqual(purged.body, { purged: true });
  assert.equal(await status('v3'), 200);
});
