import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf, imageOf, pushImage, registryServer, someBytes } from '../registry-server.ts';

test('an image is pushed and pulled', async (t) => {
  const { send } = await registryServer(t);
  const layers = [someBytes(3_000_000), someBytes(10), Buffer.alloc(0)];
  const image = imageOf(layers);
  await pushImage(send, 'acme/team/app', 'v1', image);

  for (const reference of ['v1', image.digest]) {
    const head = await send('HEAD', `/v2/acme/team/app/manifests/${reference}`);
    assert.equal(head.status, 200);
    assert.equal(head.headers['docker-content-digest'], image.digest);
    assert.equal(head.headers['content-length'], String(image.body.length));
    const got = await send('GET', `/v2/acme/team/app/manifests/${reference}`);
    assert.deepEqual(got.body, image.body);
    assert.equal(got.headers['content-type'], image.type);
    assert.equal(got.headers.etag, `"${image.digest}"`);
    assert.equal(
      (await send('GET', `/v2/acme/team/app/manifests/${reference}`, { headers: { 'If-None-Match': `"${image.digest}"` } })).status,
      304,
    );
  }
  for (const layer of image.blobs) {
    const head = await send('HEAD', `/v2/acme/team/app/blobs/${digestOf(layer)}`);
    assert.equal(head.status, 200);
    assert.equal(head.headers['content-length'], String(layer.length));
    for (let i = 0; i < 2; i++) assert.deepEqual((await send('GET', `/v2/acme/team/app/blobs/${digestOf(layer)}`)).body, layer);
  }
  assert.deepEqual((await send('GET', '/v2/acme/team/app/tags/list')).json(), { name: 'acme/team/app', tags: ['v1'] });
});
