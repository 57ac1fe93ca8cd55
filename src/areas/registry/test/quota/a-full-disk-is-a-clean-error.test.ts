import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { test } from 'node:test';
import { codeOf, digestOf, pushBlob, registryServer, someBytes } from '../registry-server.ts';

const MiB = 1024 * 1024;

test('a full disk is a clean error, and the upload goes on once there is room', async (t) => {
  const { send, app } = await registryServer(t);
  const kept = someBytes(100_000);
  await pushBlob(send, 'acme/app', kept);
  const bytes = someBytes(4 * MiB);
  const start = (await send('POST', '/v2/acme/app/blobs/uploads/')).headers.location!;
  assert.equal((await send('PATCH', start, { body: bytes.subarray(0, MiB) })).status, 202);

  const probe = await fs.open(import.meta.filename, 'r');
  const handles = Object.getPrototypeOf(probe);
  await probe.close();
  const full = t.mock.method(handles, 'write', async () => {
    throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
  });
  const refused = await send('PATCH', start, { body: bytes.subarray(MiB) });
  assert.deepEqual([refused.status, codeOf(refused)], [503, 'UNAVAILABLE']);
  assert.match(refused.body.toString(), /storage is full/);
  assert.ok((await send('GET', `/v2/acme/app/blobs/${digestOf(kept)}`)).body.equals(kept), 'pulls go on');
  full.mock.restore();

  const status = await send('GET', start);
  assert.equal(status.headers.range, `0-${MiB - 1}`, 'the refused chunk left nothing');
  assert.equal((await send('PUT', `${start}?digest=${digestOf(bytes)}`, { body: bytes.subarray(MiB) })).status, 201);
  assert.ok((await send('GET', `/v2/acme/app/blobs/${digestOf(bytes)}`)).body.equals(bytes));
  assert.equal((await Array.fromAsync(app.storage.list('sha256/'))).length, 2);
});
