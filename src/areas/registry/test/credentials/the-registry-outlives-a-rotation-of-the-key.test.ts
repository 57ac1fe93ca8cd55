import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { rotateKey } from '../../../../admin/key/rotate-key.ts';
import { followKey } from '../../../../admin/test/follow-key.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { keyIdOf, readKeys } from '../../../../kernel/secrets.ts';
import { areas } from '../../../index.ts';
import { registry } from '../../index.ts';
import { cached } from '../cached.ts';
import { basic } from '../credentials.ts';

const SealedRow = Type.Object({ sealed: Type.Unsafe<Buffer>({}) });

test('after a rotation of the key the upstreams take our logins, and tokens that were issued still hold', async (t) => {
  const server = await cached(t);
  const { upstream, owner, pull, app, clock, connection, dataDir, url } = server;
  const image = upstream.image('private/app', 'v1', [randomBytes(100)]);
  upstream.requireLogin('acme', 'hunter2');
  await owner.put('/registry/registries/acme/upstream-credentials/up.test', { username: 'acme', password: 'hunter2' });
  const key = (await owner.post('/registry/registries/acme/keys', { name: 'ci', mode: 'pull' })).body;
  const asked = await fetch(`${url}/token?service=${new URL(url).host}&scope=repository:acme/up.test/private/app:pull`, {
    headers: { authorization: basic(key.keyId, key.secret) },
  });
  const { token } = (await asked.json()) as { token: string };
  const withToken = (at: string, path: string) =>
    fetch(`${at}/v2/acme/up.test/private/app/${path}`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await withToken(url, 'manifests/v1')).status, 200);

  const before = (await readKeys(join(dataDir, 'secret.key')))!.keys[0]!.id;
  const sealed = areas.flatMap((area) => area.sealed ?? []);
  const settle = () => followKey(dataDir, [app.secrets]);
  await rotateKey({ db: app.db, connection, dataDir, sealed, settle, say: () => {} }, { dropOld: true });
  const { keys } = (await readKeys(join(dataDir, 'secret.key')))!;
  assert.ok(keys.length === 1 && keys[0]!.id !== before);
  assert.deepEqual(
    registry.sealed!.map(({ table, column }) => `${table}.${column}`),
    ['registry.signing_key.sealed', 'registry.upstream_credential.password'],
  );
  const found = await app.db.read(async (tx) => [
    ...(await rows(tx, SealedRow)`select sealed from registry.signing_key`),
    ...(await rows(tx, SealedRow)`select password as sealed from registry.upstream_credential`),
  ]);
  assert.deepEqual(
    found.map((f) => keyIdOf(f.sealed)),
    [keys[0]!.id, keys[0]!.id],
  );

  // This process with empty caches, and another one that never had the old key.
  const more = upstream.image('private/app', 'v2', [randomBytes(100)]);
  await clock.advance('10s');
  assert.equal((await pull('up.test/private/app/manifests/v2')).headers.get('docker-content-digest'), more.digest);
  const other = await quarterdeck(t, {
    connection,
    dataDir,
    env: {
      QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'upstream=127.0.0.0/8',
      QUARTERDECK_REGISTRY_UPSTREAMS: `up.test=${upstream.url}`,
      QUARTERDECK_PUBLIC_URL: url,
    },
  });
  for (const at of [url, other.url]) {
    const again = await withToken(at, 'manifests/v1');
    assert.equal(again.headers.get('docker-content-digest'), image.digest, at);
    assert.equal((await withToken(at, `blobs/${image.layers[0]}`)).status, 200);
  }
  assert.equal(
    (await app.db.read((tx) => rows(tx, SealedRow)`select sealed from registry.signing_key`)).length,
    1,
    'no second key was made',
  );
});
