import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { basic } from '../credentials.ts';
import { type Image, imageOf, indexOf, pushImage, type Send, sender, someBytes } from '../registry-server.ts';

test('deleting an index deletes only children that were never tagged, and reports the others', async (t) => {
  const { owner, url, app } = await quarterdeck(t);
  const at = '/registry/registries/acme';
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post(`${at}/keys`, { name: 'ci', mode: 'readwrite' })).body;
  const raw = sender(url);
  const send: Send = (method, path, options = {}) =>
    raw(method, path, { ...options, as: null, headers: { authorization: basic(keyId, secret), ...options.headers } });
  const image = (more?: Record<string, unknown>) => imageOf([someBytes(100)], more);
  const isHere = async ({ digest }: Image) => (await send('HEAD', `/v2/acme/app/manifests/${digest}`)).status === 200;

  const [never, untagged, moved, purged] = [image(), image(), image(), image()] as const;
  await pushImage(send, 'acme/app', never.digest, never);
  for (const [tag, each] of Object.entries({ untagged, moved, purged })) await pushImage(send, 'acme/app', tag, each);
  const index = indexOf([never, untagged, moved, purged]);
  await pushImage(send, 'acme/app', 'all', index);
  const subject = { mediaType: index.type, digest: index.digest, size: index.body.length };
  const [signature, named] = [image({ subject }), image({ subject })] as const;
  await pushImage(send, 'acme/app', signature.digest, signature);
  await pushImage(send, 'acme/app', 'sbom-of-all', named);

  // Each loses its tag in another way.
  assert.equal((await owner.delete(`${at}/tags?repo=app&tag=untagged`)).status, 200);
  await pushImage(send, 'acme/app', 'moved', image());
  assert.deepEqual((await owner.delete(`${at}/tags?repo=app&tag=purged&purge=true`)).body, { purged: false }, 'the index lists it');
  assert.equal((await send('DELETE', '/v2/acme/app/manifests/sbom-of-all')).status, 202);

  assert.equal((await owner.delete(`${at}/manifests?repo=app&digest=${index.digest}`)).status, 204);
  assert.deepEqual([await isHere(never), await isHere(signature)], [false, false], 'what was never tagged went along');
  for (const [why, each] of Object.entries({ untagged, moved, purged, named })) assert.equal(await isHere(each), true, why);
  const { entries } = (await owner.get('/organization/audit?limit=50')).body;
  const entry = entries.find((e: { action: string }) => e.action === 'registry.image.delete');
  assert.deepEqual(entry.detail.digests.toSorted(), [index, never, signature].map((m) => m.digest).toSorted());
  assert.deepEqual(entry.detail.keptForOnceTagged.toSorted(), [untagged, moved, purged, named].map((m) => m.digest).toSorted());

  // The records are deleted with their manifest.
  for (const each of [untagged, moved, purged, named])
    assert.equal((await owner.delete(`${at}/manifests?repo=app&digest=${each.digest}`)).status, 204);
  const left = await app.db.read((tx) => rows(tx, Type.Object({ digest: Type.String() }))`select digest from registry.once_tagged`);
  assert.deepEqual(left, []);
});
