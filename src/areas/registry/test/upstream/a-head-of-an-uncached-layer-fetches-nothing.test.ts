import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { cached } from '../cached.ts';

test('a HEAD of an uncached layer is answered without fetching it', async (t) => {
  const { upstream, pull, bytes } = await cached(t);
  const layer = randomBytes(300_000);
  const image = upstream.image('team/app', 'v1', [layer]);
  const path = `up.test/team/app/blobs/${image.layers[0]}`;
  const size = async () => {
    const answer = await pull(path, { method: 'HEAD' });
    return [answer.status, answer.headers.get('content-length'), answer.headers.get('docker-content-digest')];
  };
  const right = [200, String(layer.length), image.layers[0]];

  // No image declares the size: the headers of a GET do, and its body is not read.
  assert.deepEqual(await size(), right);
  assert.equal(upstream.elsewhere.length, 1);

  await pull('up.test/team/app/manifests/v1');
  assert.deepEqual(await size(), right);
  assert.equal(upstream.count('HEAD /v2/team/app/blobs/'), 3, 'once more after the token was fetched');
  assert.equal(upstream.elsewhere.length, 1, 'a place that is signed for GET alone is not asked by HEAD');

  assert.equal((await pull(`up.test/team/app/blobs/sha256:${'0'.repeat(64)}`, { method: 'HEAD' })).status, 404);
  upstream.fail(image.layers[0]!, { status: 500 });
  assert.equal((await pull(path, { method: 'HEAD' })).status, 502);

  const gets = upstream.count('GET /v2/team/app/blobs/');
  assert.ok((await bytes(path)).equals(layer), 'and a GET still fetches it');
  assert.equal(upstream.count('GET /v2/team/app/blobs/'), gets + 1);
  const asked = upstream.seen.length;
  assert.deepEqual(await size(), right);
  assert.equal(upstream.seen.length, asked, 'a cached layer causes no upstream request');
});
