import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { upstreamRegistry } from '../../../../../test/fakes/upstream-registry.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { freshDatabase, urlOf } from '../../../../../test/harness/postgres.ts';
import { scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { basic } from '../credentials.ts';

test('a server killed during a cache fill leaves no partial layer and no hanging client', async (t) => {
  const upstream = await upstreamRegistry(t);
  const { dir, dataDir } = await scratch(t);
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const env = { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'upstream=127.0.0.0/8', QUARTERDECK_REGISTRY_UPSTREAMS: `up.test=${upstream.url}` };
  const layer = randomBytes(4_000_000);
  const image = upstream.image('team/app', 'v1', [layer]);

  const { owner, stop } = await quarterdeck(t, { connection, dataDir, env });
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', { name: 'puller', mode: 'pull' })).body;
  await stop();
  const first = serverProcess(t, { dir, env: { ...env, QUARTERDECK_DATABASE_URL: urlOf(connection) } });
  const pull = (url: string, path: string) =>
    fetch(`${url}/v2/acme/up.test/team/app/${path}`, { headers: { authorization: basic(keyId, secret) } });
  assert.equal((await pull(await first.ready, 'manifests/v1')).status, 200);

  upstream.gate.close();
  const half = await pull(await first.ready, `blobs/${image.layers[0]}`);
  const reader = half.body!.getReader();
  await reader.read();
  await first.killed();
  await reader.cancel().catch(() => {}); // a socket without a reader does not notice that its peer is gone
  upstream.gate.open();

  const second = await quarterdeck(t, { connection, dataDir, env });
  const whole = await pull(second.url, `blobs/${image.layers[0]}`);
  assert.equal(whole.status, 200);
  assert.ok(Buffer.from(await whole.arrayBuffer()).equals(layer));
  assert.deepEqual(await readdir(join(dataDir, 'spool')), [], 'a spool has no name to be left behind by');
});
