import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moveClock } from '../../../kernel/time.ts';
import { collect } from '../gc/collect.ts';
import { digestOf, imageOf, pushBlob, registryServer, someBytes } from './registry-server.ts';

const artifact = 'application/vnd.oci.artifact.manifest.v1+json';

test('bytes pushed as an artifact and as an image keep their layers, and are pulled as what they were last', async (t) => {
  const { send, app } = await registryServer(t);
  const typed = imageOf([someBytes(100)]);
  const body = Buffer.from(JSON.stringify({ ...JSON.parse(typed.body.toString()), mediaType: undefined }));
  for (const blob of typed.blobs) await pushBlob(send, 'acme/app', blob);
  const put = async (tag: string, type: string) => {
    const answer = await send('PUT', `/v2/acme/app/manifests/${tag}`, { body, headers: { 'Content-Type': type } });
    assert.equal(answer.status, 201, answer.body.toString());
  };
  const typeOf = async (reference: string) => (await send('HEAD', `/v2/acme/app/manifests/${reference}`)).headers['content-type'];

  await put('first', artifact);
  for (const reference of ['first', digestOf(body)]) assert.equal(await typeOf(reference), artifact);
  await put('v1', typed.type);
  for (const reference of ['first', 'v1', digestOf(body)]) assert.equal(await typeOf(reference), typed.type, reference);

  await app.db.write((tx) => moveClock(tx, 90 * 86_400));
  await collect(app, new AbortController().signal, app.log);
  for (const blob of typed.blobs) assert.equal((await send('HEAD', `/v2/acme/app/blobs/${digestOf(blob)}`)).status, 200);
  await put('v2', artifact);
  await app.db.write((tx) => moveClock(tx, 90 * 86_400));
  await collect(app, new AbortController().signal, app.log);
  for (const blob of typed.blobs) assert.equal((await send('HEAD', `/v2/acme/app/blobs/${digestOf(blob)}`)).status, 200);
});
