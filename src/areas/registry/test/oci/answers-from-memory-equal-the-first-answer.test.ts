import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf, imageOf, pushImage, registryServer, someBytes } from '../registry-server.ts';

test('an answer from memory equals the first answer, and needs the same rights', async (t) => {
  const { send } = await registryServer(t);
  const image = imageOf([someBytes(500)]);
  const layer = image.blobs.at(-1)!;
  await pushImage(send, 'acme/app', 'v1', image);
  await pushImage(send, 'acme/other', 'v1', imageOf([someBytes(20)]));
  const blob = `blobs/${digestOf(layer)}`;

  for (const path of [blob, 'manifests/v1', `manifests/${image.digest}`]) {
    const get = async () => {
      const { status, body, headers } = await send('GET', `/v2/acme/app/${path}`);
      const { date, 'x-request-id': id, ...lasting } = headers;
      assert.ok(date && /^req_/.test(String(id)), 'an answer is dated and has an id of its own');
      return { status, body, lasting };
    };
    const first = await get();
    assert.equal(first.status, 200);
    assert.equal(first.lasting['docker-distribution-api-version'], 'registry/2.0');
    for (let again = 0; again < 3; again++) assert.deepEqual(await get(), first);
  }

  const part = await send('GET', `/v2/acme/app/${blob}`, { headers: { Range: 'bytes=10-19' } });
  assert.deepEqual([part.status, part.body], [206, layer.subarray(10, 20)]);
  const same = await send('GET', `/v2/acme/app/${blob}`, { headers: { 'If-None-Match': `"${digestOf(layer)}"` } });
  assert.deepEqual([same.status, same.body.length], [304, 0]);

  assert.equal((await send('GET', `/v2/acme/other/${blob}`)).status, 404, 'another repository does not have it');
  assert.equal((await send('GET', `/v2/acme/app/${blob}`, { headers: { Authorization: 'Bearer nobody' } })).status, 401);
  assert.equal((await send('GET', `/v2/nobody/app/${blob}`)).status, 403);
  assert.equal((await send('GET', '/v2/nobody/app/manifests/v1')).status, 403);

  assert.equal((await send('DELETE', `/v2/acme/app/manifests/${image.digest}`)).status, 202);
  assert.equal((await send('DELETE', `/v2/acme/app/${blob}`)).status, 202);
  for (const path of [blob, 'manifests/v1', `manifests/${image.digest}`])
    assert.equal((await send('GET', `/v2/acme/app/${path}`)).status, 404, 'what is deleted is gone from memory');
});
