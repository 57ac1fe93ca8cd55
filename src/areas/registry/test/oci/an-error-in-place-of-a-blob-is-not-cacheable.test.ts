import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StorageUnavailable } from '../../../../kernel/storage/index.ts';
import { pushBlob, registryServer, someBytes } from '../registry-server.ts';

test('an error in place of a blob carries no headers of the blob and is not cacheable', async (t) => {
  const { app, send } = await registryServer(t);
  const bytes = someBytes(100_000);
  const digest = await pushBlob(send, 'acme/app', bytes);
  const pull = () => send('GET', `/v2/acme/app/blobs/${digest}`, { headers: { range: 'bytes=0-70000' } });
  t.mock.method(app.storage, 'open', () => Promise.reject(new StorageUnavailable(new Error('no slot'))), { times: 1 });
  const { status, headers } = await pull();
  assert.equal(status, 503);
  const told = ['cache-control', 'etag', 'content-range', 'accept-ranges', 'docker-content-digest'].filter((name) => headers[name]);
  assert.deepEqual(told, []);
  const again = await pull();
  assert.deepEqual([again.status, again.body.equals(bytes.subarray(0, 70_001))], [206, true]);
});
