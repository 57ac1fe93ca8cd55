import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { cached } from '../cached.ts';

test('an upstream login is verified before it is stored, and used from then on', async (t) => {
  const { upstream, pull, owner, app, clock } = await cached(t);
  const image = upstream.image('private/app', 'v1', [randomBytes(100)]);
  upstream.requireLogin('acme', 'hunter2');
  assert.equal((await pull('up.test/private/app/manifests/v1')).status, 403, 'an anonymous pull is refused');

  const at = '/registry/registries/acme/upstream-credentials';
  const rejected = await owner.put(`${at}/up.test`, { username: 'acme', password: 'wrong' });
  assert.equal(rejected.status, 422);
  assert.equal((await owner.put(`${at}/gone.test`, { username: 'acme', password: 'hunter2' })).status, 502);
  assert.equal((await owner.put(`${at}/unlisted.test`, { username: 'acme', password: 'hunter2' })).status, 404);
  assert.deepEqual((await owner.get(at)).body, { upstreamCredentials: [] }, 'nothing was stored');

  const set = await owner.put(`${at}/up.test`, { username: 'acme', password: 'hunter2' });
  assert.deepEqual([set.status, set.body], [200, { upstream: 'up.test', username: 'acme' }]);
  const [listed] = (await owner.get(at)).body.upstreamCredentials;
  assert.deepEqual([listed.upstream, listed.username, Object.keys(listed).length], ['up.test', 'acme', 3]);
  const leaked = await app.db.read(
    (tx) => run(tx)`select 1 from registry.upstream_credential where position('hunter2'::bytea in password) > 0`,
  );
  assert.equal(leaked, 0, 'sealed');

  const pulled = await pull('up.test/private/app/manifests/v1');
  assert.equal(pulled.headers.get('docker-content-digest'), image.digest);

  assert.equal((await owner.delete(`${at}/up.test`)).status, 204);
  assert.equal((await owner.delete(`${at}/up.test`)).status, 404);
  await clock.advance('61s');
  assert.equal((await pull('up.test/private/app/manifests/v1')).status, 403, 'forgotten at once');
});

test('an upstream that limits us is asked again at once with another login', async (t) => {
  const { upstream, pull, owner } = await cached(t);
  upstream.image('team/app', 'v1', [randomBytes(100)]);
  const manifest = '/v2/team/app/manifests/v1';
  const limited = { status: 429, headers: { 'retry-after': '3600' } };
  const at = '/registry/registries/acme/upstream-credentials/up.test';
  const isLimited = async () => {
    upstream.fail(manifest, limited);
    assert.equal((await pull('up.test/team/app/manifests/v1')).status, 429);
    const asked = upstream.seen.length;
    assert.equal((await pull('up.test/team/app/manifests/v1')).status, 429);
    assert.equal(upstream.seen.length, asked, 'it rests');
  };
  await isLimited();
  upstream.requireLogin('acme', 'hunter2');
  assert.equal((await owner.put(at, { username: 'acme', password: 'hunter2' })).status, 200);
  await isLimited();
  assert.equal((await owner.put(at, { username: 'acme', password: 'hunter2' })).status, 200);
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200);
});
