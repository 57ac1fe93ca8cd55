import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, type Tx } from '../../../../kernel/db/index.ts';
import { overtaken } from '../lock-race.ts';
import { codeOf, digestOf, imageOf, indexOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

test('manifests below a tagged index are not deleted', async (t) => {
  const { send, app } = await registryServer(t);
  await app.db.write((tx) => run(tx)`update registry.registry set immutable_tags = ${['v*']} where slug = 'acme'`);
  const layer = someBytes(10);
  const image = (i: number) => imageOf([layer], { annotations: { i: String(i) } });
  const remove = async (reference: string) => {
    const answer = await send('DELETE', `/v2/acme/app/manifests/${reference}`);
    return answer.status === 202 ? 202 : `${answer.status} ${codeOf(answer)}`;
  };
  const status = async (reference: string) => (await send('HEAD', `/v2/acme/app/manifests/${reference}`)).status;

  // An index under an immutable tag, an index of an index under an ordinary tag, and an untagged index.
  for (let i = 0; i < 3; i++) await pushImage(send, 'acme/app', image(i).digest, image(i));
  const [fixed, inner, loose] = [indexOf([image(0)]), indexOf([image(1)]), indexOf([image(2)])];
  const outer = indexOf([inner]);
  await putManifest(send, 'acme/app', 'v1', fixed);
  await putManifest(send, 'acme/app', inner.digest, inner);
  await putManifest(send, 'acme/app', 'all', outer);
  await putManifest(send, 'acme/app', loose.digest, loose);

  for (const kept of [image(0), image(1), inner]) assert.equal(await remove(kept.digest), '403 DENIED');
  assert.equal(await remove(fixed.digest), '403 DENIED', 'an immutable tag stands for it');
  assert.equal(await remove('v1'), '403 DENIED');
  const needed = await send('DELETE', `/v2/acme/app/blobs/${digestOf(layer)}`);
  assert.deepEqual([needed.status, codeOf(needed)], [405, 'UNSUPPORTED'], 'nor a layer of it');
  for (const kept of [image(0), image(1), inner, outer, fixed]) assert.equal(await status(kept.digest), 200);
  assert.equal(await remove(image(2).digest), 202, 'an index without a tag stands for nothing');
  assert.equal(await remove('all'), 202);
  for (const freed of [outer, inner, image(1)]) assert.equal(await remove(freed.digest), 202);

  // A rule made a moment ago applies, although the server has the repository cached without it.
  await putManifest(send, 'acme/app', 'release', loose);
  assert.equal(await status('release'), 200);
  await app.db.write((tx) => run(tx)`update registry.registry set immutable_tags = ${['v*', 'release']} where slug = 'acme'`);
  for (const reference of ['release', loose.digest]) assert.equal(await remove(reference), '403 DENIED');

  // So does a tag that an index gets at this moment, at any depth.
  for (let i = 4; i < 6; i++) await pushImage(send, 'acme/app', image(i).digest, image(i));
  const [low, high] = [indexOf([image(4)]), indexOf([indexOf([image(5)])])];
  await putManifest(send, 'acme/app', low.digest, low);
  await putManifest(send, 'acme/app', indexOf([image(5)]).digest, indexOf([image(5)]));
  await putManifest(send, 'acme/app', high.digest, high);
  for (const [index, child] of [
    [low, image(4)],
    [high, image(5)],
  ] as const) {
    // The deletion has locked the child and the push of the tag waits; then the other way round.
    const holdChild = (tx: Tx) => run(tx)`select from registry.manifest where digest = ${child.digest} for update`;
    const waited: number[] = [];
    const tagged = overtaken(
      app,
      holdChild,
      () => putManifest(send, 'acme/app', 'v9', index),
      async (tx) => void waited.push(await run(tx)`select from registry.tag where name = 'v9'`),
    );
    assert.equal((await tagged).status, 201);
    assert.deepEqual(waited, [0]);
    assert.equal(await remove(child.digest), '403 DENIED');
    await app.db.write((tx) => run(tx)`delete from registry.tag where name = 'v9'`);
  }
});

test('a list of referrers does not keep what it lists from being deleted', async (t) => {
  const { send } = await registryServer(t);
  const image = imageOf([someBytes(10)]);
  await pushImage(send, 'acme/app', 'latest', image);
  const signature = imageOf([someBytes(5)], { subject: { mediaType: image.type, digest: image.digest, size: image.body.length } });
  await pushImage(send, 'acme/app', signature.digest, signature);
  await putManifest(send, 'acme/app', image.digest.replace(':', '-'), indexOf([signature]));
  assert.equal((await send('DELETE', `/v2/acme/app/manifests/${signature.digest}`)).status, 202);
});
