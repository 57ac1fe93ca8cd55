import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, digestOf, imageOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

test('a refused client is told how to log in, or that it would not help', async (t) => {
  const { send, allow, registry, app } = await registryServer(t);
  const acme = { registryId: 'reg_acme' };
  const image = imageOf([someBytes(10)]);
  await pushImage(send, 'acme/team/app', 'v1', image);
  const { host } = new URL(app.publicUrl());
  const realm = `Bearer realm="${app.publicUrl()}/token",service="${host}"`;
  const digest = digestOf(image.blobs[0]!);

  for (const [method, path, scope] of [
    ['GET', '', ''],
    ['GET', 'acme/team/app/manifests/v1', ',scope="repository:acme/team/app:pull"'],
    ['HEAD', `acme/team/app/blobs/${digest}`, ',scope="repository:acme/team/app:pull"'],
    ['PUT', 'acme/team/app/manifests/v1', ',scope="repository:acme/team/app:pull,push"'],
    ['POST', 'acme/team/app/blobs/uploads/', ',scope="repository:acme/team/app:pull,push"'],
    ['POST', `acme/b/blobs/uploads/?mount=${digest}&from=acme/a`, ',scope="repository:acme/b:pull,push repository:acme/a:pull"'],
    ['DELETE', 'acme/team/app/manifests/v1', ',scope="repository:acme/team/app:delete"'],
    ['GET', '_catalog', ',scope="registry:catalog:*"'],
    ['GET', 'UPPER/case/manifests/v1', ''],
  ] as const) {
    const answer = await send(method, `/v2/${path}`, { as: null });
    assert.equal(answer.status, 401, path);
    assert.equal(answer.headers['www-authenticate'], realm + scope, path);
    assert.equal(answer.headers['docker-distribution-api-version'], 'registry/2.0');
    if (method !== 'HEAD') assert.equal(codeOf(answer), 'UNAUTHORIZED');
  }
  assert.deepEqual([(await send('GET', '/v2/')).status, (await send('GET', '/v2')).status], [200, 200]);

  allow('reader', { acme: { ...acme, mode: 'pull' } });
  allow('narrow', { acme: { ...acme, prefixes: ['team/app', 'other/'] } });
  allow('stranger', { evil: { registryId: await registry('evil', 1e9, 'org_evil') } });
  const denied = async (as: string, method: string, path: string) => {
    const answer = await send(method, `/v2/${path}`, { as, ...(method === 'PUT' ? { body: image.body } : {}) });
    assert.deepEqual([answer.status, method === 'HEAD' ? 'DENIED' : codeOf(answer)], [403, 'DENIED'], `${as} ${method} ${path}`);
  };
  assert.equal((await send('GET', '/v2/acme/team/app/manifests/v1', { as: 'reader' })).status, 200);
  for (const [method, path] of [
    ['PUT', 'manifests/v2'],
    ['DELETE', 'manifests/v1'],
    ['POST', 'blobs/uploads/'],
    ['DELETE', `blobs/${digest}`],
  ] as const)
    await denied('reader', method, `acme/team/app/${path}`);
  assert.equal((await putManifest(send, 'acme/team/app', 'v2', image, 'narrow')).status, 201);
  for (const path of [
    'acme/team/application/tags/list',
    'acme/team/tags/list',
    'acme/other/tags/list',
    'evil/x/tags/list',
    'nobody/x/tags/list',
  ])
    await denied('narrow', 'GET', path);
  assert.equal((await send('GET', '/v2/acme/other/x/tags/list', { as: 'narrow' })).status, 404);
  for (const path of ['tags/list', 'manifests/v1', `blobs/${digest}`, `referrers/${image.digest}`])
    await denied('stranger', 'GET', `acme/team/app/${path}`);
  await denied('stranger', 'PUT', 'acme/team/app/manifests/v1');

  // A bearer token narrower than its credential: a better token helps. Beyond the credential's rights it does not.
  allow('bearer', { acme }, new Map([['acme/team/app', new Set(['pull'] as const)]]));
  assert.equal((await send('GET', '/v2/acme/team/app/manifests/v1', { as: 'bearer' })).status, 200);
  const more = await putManifest(send, 'acme/team/app', 'v3', image, 'bearer');
  assert.equal(more.headers['www-authenticate'], `${realm},scope="repository:acme/team/app:pull,push",error="insufficient_scope"`);
  assert.equal((await send('GET', '/v2/acme/zzz/tags/list', { as: 'bearer' })).status, 401);
  allow('weak bearer', { acme: { ...acme, mode: 'pull' } }, new Map([['acme/team/app', new Set(['pull', 'push'] as const)]]));
  await denied('weak bearer', 'PUT', 'acme/team/app/manifests/v3');
});
