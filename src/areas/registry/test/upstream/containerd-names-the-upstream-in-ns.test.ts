import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { cached } from '../cached.ts';

test('a client that uses the registry as a mirror names the upstream in ns', async (t) => {
  const { upstream, pull, bytes, url } = await cached(t);
  const layer = randomBytes(1_000);
  const image = upstream.image('library/alpine', '3', [layer]);

  // hosts.toml: [host."https://registry.example/v2/acme"] with override_path, or with the upstream's host in the path as well.
  for (const repository of ['library/alpine', 'docker.io/library/alpine']) {
    const manifest = await pull(`${repository}/manifests/3?ns=docker.io`);
    assert.equal(manifest.headers.get('docker-content-digest'), image.digest, repository);
    assert.equal(manifest.headers.get('oci-namespace'), 'docker.io');
    assert.ok((await bytes(`${repository}/blobs/${image.layers[0]}?ns=docker.io`)).equals(layer));
  }
  const tags = await pull('library/alpine/tags/list?ns=docker.io');
  assert.deepEqual(await tags.json(), { name: 'acme/docker.io/library/alpine', tags: ['3'] });
  assert.equal(upstream.elsewhere.length, 1, 'both are the same repository here');

  // The challenge of an anonymous client names the repository that it will read.
  const challenged = await fetch(`${url}/v2/acme/library/alpine/manifests/3?ns=docker.io`);
  assert.match(challenged.headers.get('www-authenticate')!, /scope="repository:acme\/docker\.io\/library\/alpine:pull"/);

  const unlisted = await pull('library/alpine/manifests/3?ns=unlisted.test');
  assert.deepEqual([unlisted.status, unlisted.headers.get('oci-namespace')], [404, null], 'an upstream that is not in the catalog is none');
  const pushed = await pull('own/app/blobs/uploads/?ns=docker.io', { method: 'POST' });
  assert.equal(pushed.status, 202, 'a push goes where its path says');
});
