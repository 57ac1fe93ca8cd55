import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { readConfig } from '../../../../kernel/config.ts';
import { collect } from '../../engine/gc/collect.ts';
import { expireUploads } from '../../engine/gc/expire-uploads.ts';
import { cached } from '../cached.ts';
import { digestOf } from '../registry-server.ts';

const { signal } = new AbortController();

test('the operator sets the quota of new registries, the delay of garbage collection and the lifetime of uploads', async (t) => {
  const { owner, pull, app, engine, clock } = await cached(t, {
    QUARTERDECK_REGISTRY_QUOTA_BYTES: '5000000',
    QUARTERDECK_REGISTRY_GC_DELAY_SECONDS: '600',
    QUARTERDECK_REGISTRY_UPLOAD_SECONDS: '120',
  });
  assert.equal((await owner.get('/registry/registries/acme')).body.storageQuotaBytes, 5_000_000);
  const begin = async () => (await pull('own/app/blobs/uploads/', { method: 'POST' })).headers.get('location')!.slice('/v2/acme/'.length);
  const isThere = async (path: string) => (await pull(path)).status < 300;

  const layer = randomBytes(1_000);
  const stored = await pull(`${await begin()}?digest=${digestOf(layer)}`, { method: 'PUT', body: new Uint8Array(layer) });
  assert.equal(stored.status, 201);
  const upload = await begin();
  await clock.advance('119s');
  assert.ok(await isThere(upload));
  await clock.advance('2s');
  assert.ok(!(await isThere(upload)));
  assert.equal(await expireUploads(app, signal), 1);

  const blob = `own/app/blobs/${digestOf(layer)}`;
  await collect(engine, signal, app.log);
  assert.ok(await isThere(blob));
  await clock.advance('10m');
  await collect(engine, signal, app.log);
  assert.ok(!(await isThere(blob)));

  // Without a delay, layers would be collected while their image is still being pushed.
  assert.throws(() => readConfig({ QUARTERDECK_REGISTRY_GC_DELAY_SECONDS: '0' }, '/nonexistent'), /REGISTRY_GC_DELAY_SECONDS is wrong/);
});
