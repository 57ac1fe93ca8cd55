import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf, pushBlob, registryServer, someBytes } from '../registry-server.ts';

test('a mount needs the right to pull from its source', async (t) => {
  const { send, allow, registry } = await registryServer(t);
  const acme = { registryId: 'reg_acme' };
  const bytes = someBytes(1000);
  const digest = await pushBlob(send, 'acme/secret/one', bytes);
  const mount = (target: string, query: string, as = 'alice') =>
    send('POST', `/v2/${target}/blobs/uploads/?mount=${digest}${query}`, { as });
  const has = async (target: string, as = 'alice') => (await send('HEAD', `/v2/${target}/blobs/${digest}`, { as })).status === 200;

  const mounted = await mount('acme/two', '&from=acme/secret/one');
  assert.deepEqual([mounted.status, mounted.headers.location], [201, `/v2/acme/two/blobs/${digest}`]);
  assert.ok(await has('acme/two'));
  assert.equal((await mount('acme/three', '')).status, 201, 'anonymously, from wherever in the registry the caller may pull');

  const missing = await send('POST', `/v2/acme/two/blobs/uploads/?mount=${digestOf(someBytes(9))}&from=acme/secret/one`);
  assert.equal(missing.status, 202);
  assert.ok(missing.headers.location, 'the client goes on with an ordinary upload');
  assert.equal((await mount('acme/four', '&from=acme/nowhere')).status, 202);
  assert.equal((await send('POST', '/v2/acme/two/blobs/uploads/?mount=sha256:nonsense&from=acme/two')).status, 400);

  // Another tenant knows the digest and names the source: it must upload the content itself.
  allow('mallory', { evil: { registryId: await registry('evil', 1e9, 'org_evil') } });
  for (const from of ['&from=acme/secret/one', '']) assert.equal((await mount('evil/mine', from, 'mallory')).status, 202);
  assert.equal(await has('evil/mine', 'mallory'), false);

  // A key for some repositories mounts from those only; a bearer token also needs the scope to pull from the source.
  allow('narrow', { acme: { ...acme, prefixes: ['public'] } });
  assert.equal((await mount('acme/public/x', '&from=acme/secret/one', 'narrow')).status, 202);
  assert.equal((await mount('acme/public/x', '', 'narrow')).status, 202);
  const push = new Set(['pull', 'push'] as const);
  allow('scoped', { acme }, new Map([['acme/five', push]]));
  const challenged = await mount('acme/five', '&from=acme/secret/one', 'scoped');
  assert.equal(challenged.status, 401, 'its owner may: a token for both is worth asking for');
  assert.match(
    String(challenged.headers['www-authenticate']),
    /scope="repository:acme\/five:pull,push repository:acme\/secret\/one:pull",error="insufficient_scope"/,
  );
  allow(
    'both',
    { acme },
    new Map([
      ['acme/five', push],
      ['acme/secret/one', new Set(['pull'] as const)],
    ]),
  );
  assert.equal((await mount('acme/five', '&from=acme/secret/one', 'both')).status, 201);
});
