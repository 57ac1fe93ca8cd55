import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { sha256 } from '../../../../../test/fakes/upstream-registry.ts';
import { run } from '../../../../kernel/db/index.ts';
import { cached } from '../cached.ts';

test('the cache fetches an image once and asks about its tag by HEAD', async (t) => {
  const { upstream, pull, bytes, clock, owner, app } = await cached(t);
  const layer = randomBytes(300_000);
  const image = upstream.image('team/app', 'v1', [layer]);

  const first = await pull('up.test/team/app/manifests/v1');
  assert.equal(first.status, 200);
  assert.equal(first.headers.get('docker-content-digest'), image.digest);
  assert.ok(Buffer.from(await first.arrayBuffer()).equals(image.manifest));
  assert.ok((await bytes(`up.test/team/app/blobs/${image.layers[0]}`)).equals(layer));
  assert.deepEqual(upstream.elsewhere[0]!.headers.authorization, undefined, 'no Authorization at the place of blobs');
  assert.equal((await pull(`up.test/team/app/manifests/${image.digest}`, { method: 'HEAD' })).status, 200);

  const asked = upstream.seen.length;
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200);
  assert.ok((await bytes(`up.test/team/app/blobs/${image.layers[0]}`)).equals(layer));
  assert.equal(upstream.seen.length, asked, 'fresh for a minute, blobs for ever');
  assert.equal(upstream.elsewhere.length, 1);

  await clock.advance('61s');
  const gets = upstream.count('GET /v2/team/app/manifests');
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200);
  assert.equal(upstream.count('GET /v2/team/app/manifests'), gets, 'HEAD is enough while nothing changed');

  // A tag of the cache moves on even when its manifest now belongs to a pushed index.
  await app.db.write((tx) => run(tx)`update registry.manifest set cached = false, pushed_by = 'somebody'`);
  const moved = upstream.image('team/app', 'v1', [layer]);
  await clock.advance('61s');
  const after = await pull('up.test/team/app/manifests/v1');
  assert.equal(after.headers.get('docker-content-digest'), moved.digest);

  upstream.untag('team/app', 'v1');
  await clock.advance('61s');
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 404, 'what the upstream took away is gone');
  const heads = upstream.count('HEAD /v2/team/app/manifests/v1');
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 404);
  assert.equal(upstream.count('HEAD /v2/team/app/manifests/v1'), heads, 'and not asked for again at once');

  const official = upstream.image('library/alpine', '3', [randomBytes(10)]);
  assert.equal((await pull('docker.io/alpine/manifests/3')).headers.get('docker-content-digest'), official.digest);

  const push = await pull('up.test/team/app/blobs/uploads/', { method: 'POST' });
  assert.equal(push.status, 403, 'clients cannot push to a cache');
  assert.equal((await pull('up.test/team/app/manifests/v9')).status, 404);
  const { repositories } = (await owner.get('/registry/registries/acme/repositories')).body;
  assert.ok(repositories.some((r: { name: string; sizeBytes: number }) => r.name === 'up.test/team/app' && r.sizeBytes >= layer.length));
  assert.equal(sha256(layer), image.layers[0]);
});
