import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { cached } from '../cached.ts';
import { basic } from '../credentials.ts';

test('a layer in the registry is not fetched again from an upstream', async (t) => {
  const { upstream, pull, bytes, owner, url, engine } = await cached(t);
  const base = randomBytes(300_000);
  const one = upstream.image('team/one', 'v1', [base]);
  upstream.image('team/two', 'v1', [base, randomBytes(1_000)]);
  const layer = one.layers[0]!;
  for (const name of ['one', 'two']) assert.equal((await pull(`up.test/team/${name}/manifests/v1`)).status, 200);
  assert.ok((await bytes(`up.test/team/one/blobs/${layer}`)).equals(base));
  // The reader had the last byte before the blob was linked.
  const fills = async () => (await engine.metrics.cacheFills.get()).values.find((v) => v.labels.result === 'whole')?.value;
  await t.waitFor(async () => assert.equal(await fills(), 1), { timeout: 10_000 });
  const used = async () => (await owner.get('/registry/registries/acme')).body.usedBytes;
  const before = await used();
  const asked = upstream.seen.length;
  const head = await pull(`up.test/team/two/blobs/${layer}`, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, '300000']);
  assert.ok((await bytes(`up.test/team/two/blobs/${layer}`)).equals(base));
  assert.equal(upstream.seen.length, asked, 'the upstream was not asked');
  assert.equal(await used(), before, 'and it counts once');

  await t.test('nor a pushed one', async () => {
    const pushed = randomBytes(200_000);
    const digest = `sha256:${createHash('sha256').update(pushed).digest('hex')}`;
    const answer = await pull(`own/app/blobs/uploads/?digest=${digest}`, { method: 'POST', body: pushed });
    assert.equal(answer.status, 201);
    upstream.image('team/three', 'v1', [pushed]);
    assert.equal((await pull('up.test/team/three/manifests/v1')).status, 200);

    // A caller without the right to pull it there gets it from the upstream and learns nothing.
    const key = { name: 'narrow', mode: 'pull', repoPrefixes: ['up.test'] };
    const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', key)).body;
    const narrow = await fetch(`${url}/v2/acme/up.test/team/three/blobs/${digest}`, {
      method: 'HEAD',
      headers: { authorization: basic(keyId, secret) },
    });
    assert.equal(narrow.status, 200);
    assert.equal(upstream.count(`HEAD /v2/team/three/blobs/${digest}`), 1);

    assert.ok((await bytes(`up.test/team/three/blobs/${digest}`)).equals(pushed));
    assert.equal(upstream.count(`GET /v2/team/three/blobs/${digest}`), 0);
  });

  await t.test('a blob that no image of the repository names is not linked', async () => {
    const hidden = randomBytes(1_000);
    const digest = `sha256:${createHash('sha256').update(hidden).digest('hex')}`;
    assert.equal((await pull(`own/app/blobs/uploads/?digest=${digest}`, { method: 'POST', body: hidden })).status, 201);
    assert.equal((await pull(`up.test/team/one/blobs/${digest}`)).status, 404);
  });
});
