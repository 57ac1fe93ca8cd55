import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { basic } from '../credentials.ts';
import { imageOf, indexOf, pushImage, putManifest, type Send, sender, someBytes } from '../registry-server.ts';

test('immutable tags hold for the control API too', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const at = '/registry/registries/acme';
  await owner.post('/registry/registries', { slug: 'acme' });
  await owner.patch(at, { immutableTags: ['v*'] });
  const { keyId, secret } = (await owner.post(`${at}/keys`, { name: 'ci', mode: 'readwrite' })).body;
  const anonymous = sender(url);
  const send: Send = (method, path, options) =>
    anonymous(method, path, { ...options, headers: { ...options?.headers, Authorization: basic(keyId, secret) }, as: null });
  const child = imageOf([someBytes(10)]);
  const index = indexOf([child]);
  await pushImage(send, 'acme/app', child.digest, child);
  await putManifest(send, 'acme/app', 'v1', index);
  await putManifest(send, 'acme/app', 'latest', index);

  const refused = [
    await owner.delete(`${at}/tags?repo=app&tag=v1`),
    await owner.delete(`${at}/tags?repo=app&tag=v1&purge=true`),
    await owner.delete(`${at}/manifests?repo=app&digest=${index.digest}`),
    await owner.delete(`${at}/manifests?repo=app&digest=${child.digest}`),
  ];
  assert.deepEqual(
    refused.map((r) => r.status),
    [409, 409, 409, 409],
  );
  assert.match(refused[0]!.body.error, /v1 is immutable in this registry; change the registry's rules first/);
  assert.equal((await owner.delete(`${at}/tags?repo=app&tag=v2`)).status, 404, 'there is no such tag');
  assert.deepEqual((await owner.delete(`${at}/tags?repo=app&tag=latest&purge=true`)).body, { purged: false });
  assert.equal((await send('HEAD', '/v2/acme/app/manifests/v1')).status, 200);

  await owner.patch(at, { immutableTags: [] });
  assert.deepEqual((await owner.delete(`${at}/tags?repo=app&tag=v1&purge=true`)).body, { purged: true });
});
