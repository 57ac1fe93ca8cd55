import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { cached } from '../cached.ts';
import { basic } from '../credentials.ts';

test('docker.io/alpine and docker.io/library/alpine are one repository', async (t) => {
  const { upstream, pull, owner, engine, url } = await cached(t);
  const image = upstream.image('library/alpine', '3', [randomBytes(200_000)]);
  const layer = image.layers[0]!;
  for (const name of ['docker.io/alpine', 'docker.io/library/alpine', 'docker.io/alpine']) {
    const answer = await pull(`${name}/manifests/3`);
    assert.deepEqual([answer.status, answer.headers.get('docker-content-digest')], [200, image.digest]);
    assert.equal((await (await pull(`${name}/blobs/${layer}`)).arrayBuffer()).byteLength, 200_000);
  }
  assert.equal(upstream.count(`GET /v2/library/alpine/blobs/${layer}`), 1);
  assert.equal(upstream.count('HEAD /v2/library/alpine/manifests/3'), 2, 'once for a token, and once');
  const names = async () =>
    (await owner.get('/registry/registries/acme/repositories')).body.repositories.map((r: { name: string }) => r.name);
  assert.deepEqual(await names(), ['docker.io/library/alpine']);

  await t.test('a caller with the right to one name uses that name', async () => {
    const key = { name: 'short', mode: 'pull', repoPrefixes: ['docker.io/alpine'] };
    const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', key)).body;
    const headers = { authorization: basic(keyId, secret) };
    assert.equal((await fetch(`${url}/v2/acme/docker.io/alpine/manifests/3`, { headers })).status, 200);
    assert.equal((await fetch(`${url}/v2/acme/docker.io/library/alpine/manifests/3`, { headers })).status, 403);
  });

  await t.test('the control API takes both', async () => {
    const tags = (await owner.get('/registry/registries/acme/tags?repo=docker.io/alpine')).body.tags;
    assert.deepEqual(
      tags.map((each: { name: string }) => each.name),
      ['3'],
    );
  });

  await t.test('an old repository under the short name stays reachable by both names', async () => {
    upstream.image('library/busybox', '1', [randomBytes(1_000)]);
    await engine.app.db.write(
      (tx) => run(tx)`
        insert into registry.repository (org_id, registry_id, name, upstream_host, created_at, size_bytes, tag_count)
        select org_id, id, 'docker.io/busybox', 'docker.io', kernel.now(), 0, 0 from registry.registry where slug = 'acme'`,
    );
    for (const name of ['docker.io/library/busybox', 'docker.io/busybox'])
      assert.equal((await pull(`${name}/manifests/1`)).status, 200, name);
    assert.deepEqual(await names(), ['docker.io/busybox', 'docker.io/library/alpine']);
  });

  await t.test('deleted by either name', async () => {
    assert.equal((await owner.delete('/registry/registries/acme/repositories?repo=docker.io/alpine')).status, 204);
    assert.deepEqual(await names(), ['docker.io/busybox']);
  });
});
