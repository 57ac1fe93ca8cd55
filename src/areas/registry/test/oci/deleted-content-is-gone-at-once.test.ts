import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, digestOf, imageOf, indexOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

test('deleted content is gone at once', async (t) => {
  const { send } = await registryServer(t);
  const name = 'acme/app';
  const shared = someBytes(500);
  const [one, two] = [imageOf([shared, someBytes(20)]), imageOf([shared, someBytes(30)])];
  const index = indexOf([one, two]);
  await pushImage(send, name, 'one', one);
  await pushImage(send, name, 'two', two);
  assert.equal((await putManifest(send, name, 'all', index)).status, 201);
  const status = async (path: string, method = 'HEAD') => (await send(method, `/v2/${name}/${path}`)).status;
  for (const path of ['manifests/one', 'manifests/all', `blobs/${digestOf(shared)}`]) assert.equal(await status(path), 200);

  const needed = await send('DELETE', `/v2/${name}/blobs/${digestOf(shared)}`);
  assert.deepEqual([needed.status, codeOf(needed)], [405, 'UNSUPPORTED'], 'a blob that an image needs stays');

  assert.equal(await status('manifests/one', 'DELETE'), 202, 'a tag');
  assert.equal(await status('manifests/one'), 404);
  assert.equal(await status(`manifests/${one.digest}`), 200, 'its image stays');
  assert.equal(await status('manifests/one', 'DELETE'), 404);

  assert.equal(await status(`manifests/${index.digest}`, 'DELETE'), 202);
  assert.equal(await status('manifests/all'), 404, 'the tag went with its manifest');
  for (const image of [one, two]) {
    assert.equal(await status(`manifests/${image.digest}`), 200, 'children stay: who deletes an index said nothing of them');
    assert.equal(await status(`manifests/${image.digest}`, 'DELETE'), 202);
    assert.equal(await status(`manifests/${image.digest}`), 404);
    assert.equal(await status(`manifests/${image.digest}`, 'DELETE'), 404);
  }
  for (const blob of new Set([...one.blobs, ...two.blobs].map((b) => digestOf(b)))) {
    assert.equal(await status(`blobs/${blob}`, 'DELETE'), 202);
    for (const method of ['HEAD', 'GET', 'DELETE']) assert.equal(await status(`blobs/${blob}`, method), 404);
  }
  assert.deepEqual((await send('GET', `/v2/${name}/tags/list`)).json(), { name, tags: [] });
});
