import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { digestOf, pushBlob, registryServer, someBytes } from '../registry-server.ts';

test('only a trusted proxy is told which file to send', async (t) => {
  const large = someBytes(300_000);
  const small = someBytes(1_000);
  const pathOf = (bytes: Buffer) => `/v2/acme/app/blobs/${digestOf(bytes)}`;
  const start = (more: Record<string, string>) => registryServer(t, { env: { QUARTERDECK_ACCEL_REDIRECT: '/layers', ...more } });

  const { send, dataDir, stop } = await start({ QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1' });
  await pushBlob(send, 'acme/app', large);
  await pushBlob(send, 'acme/app', small);
  for (const headers of [{}, { Range: 'bytes=1000-1999' }] as Record<string, string>[]) {
    const answer = await send('GET', pathOf(large), { headers });
    assert.deepEqual([answer.status, answer.body.length, answer.headers['content-range']], [200, 0, undefined]);
    const [, folder, ...key] = String(answer.headers['x-accel-redirect']).split('/');
    assert.equal(folder, 'layers');
    assert.ok((await readFile(join(dataDir, 'blobs', ...key))).equals(large));
  }
  assert.ok((await send('GET', pathOf(small))).body.equals(small), 'what is small comes from memory');
  const head = await send('HEAD', pathOf(large));
  assert.equal(head.headers['content-length'], '300000');
  assert.equal((await send('GET', pathOf(large), { as: null })).status, 401);
  await stop();

  const direct = await start({});
  await pushBlob(direct.send, 'acme/app', large);
  assert.ok((await direct.send('GET', pathOf(large))).body.equals(large), 'a stranger gets the bytes from us');
});
