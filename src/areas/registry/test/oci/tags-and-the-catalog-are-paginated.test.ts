import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, imageOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

test('tags and the catalog are paginated', async (t) => {
  const { send, allow, registry } = await registryServer(t);
  const image = imageOf([someBytes(10)]);
  await pushImage(send, 'acme/app', 'v2', image);
  for (const tag of ['B', 'a', '_x', 'v10', 'Z']) assert.equal((await putManifest(send, 'acme/app', tag, image)).status, 201);
  const sorted = ['B', 'Z', '_x', 'a', 'v10', 'v2'];
  const tags = async (query: string) => (await send('GET', `/v2/acme/app/tags/list${query}`)).json() as { tags: string[] };

  assert.deepEqual((await tags('')).tags, sorted, 'in ASCII order, not in that of any language');
  assert.deepEqual((await tags('?n=0')).tags, []);
  assert.deepEqual((await tags('?n=100')).tags, sorted);
  assert.deepEqual((await tags('?last=_x')).tags, ['a', 'v10', 'v2']);
  const walked: string[] = [];
  for (let next: string | undefined = '/v2/acme/app/tags/list?n=4'; next; ) {
    const slice = await send('GET', next);
    walked.push(...(slice.json() as { tags: string[] }).tags);
    next = /^<([^>]+)>; rel="next"$/.exec(String(slice.headers.link ?? ''))?.[1];
  }
  assert.deepEqual(walked, sorted);
  for (const n of ['-1', 'x', '1.5']) assert.equal((await send('GET', `/v2/acme/app/tags/list?n=${n}`)).status, 400);
  const unknown = await send('GET', '/v2/acme/nothing/tags/list');
  assert.deepEqual([unknown.status, codeOf(unknown)], [404, 'NAME_UNKNOWN']);

  for (const name of ['acme/zeta', 'acme/team/a', 'acme/team/b']) await pushImage(send, name, 'v1', image);
  allow('owner', { other: { registryId: await registry('other') }, acme: { registryId: 'reg_acme' } });
  await pushImage(send, 'other/thing', 'v1', image, 'owner');
  await send('POST', '/v2/acme/ghost/blobs/uploads/');
  const all = ['acme/app', 'acme/team/a', 'acme/team/b', 'acme/zeta', 'other/thing'];
  const catalog = async (query = '', as = 'owner') =>
    ((await send('GET', `/v2/_catalog${query}`, { as })).json() as { repositories: string[] }).repositories;
  assert.deepEqual(await catalog(), all, 'without the repository that an upload was only begun in');
  assert.deepEqual(await catalog('', 'alice'), all.slice(0, 4), 'of the registries one reaches');
  allow('narrow', { acme: { registryId: 'reg_acme', prefixes: ['team'], mode: 'pull' } });
  assert.deepEqual(await catalog('', 'narrow'), ['acme/team/a', 'acme/team/b']);
  const slices: string[] = [];
  for (let next: string | undefined = '/v2/_catalog?n=2'; next; ) {
    const slice = await send('GET', next, { as: 'owner' });
    slices.push(...(slice.json() as { repositories: string[] }).repositories);
    next = /^<([^>]+)>; rel="next"$/.exec(String(slice.headers.link ?? ''))?.[1];
  }
  assert.deepEqual(slices, all);

  allow('bearer', { acme: { registryId: 'reg_acme' } }, new Map());
  const challenged = await send('GET', '/v2/_catalog', { as: 'bearer' });
  assert.equal(challenged.status, 401);
  assert.match(String(challenged.headers['www-authenticate']), /scope="registry:catalog:\*",error="insufficient_scope"/);
});
