import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { collect } from '../../engine/gc/collect.ts';
import { codeOf, digestOf, imageOf, indexOf, pushBlob, pushImage, registryServer, someBytes } from '../registry-server.ts';

const artifact = 'application/vnd.oci.artifact.manifest.v1+json';
const dockerList = 'application/vnd.docker.distribution.manifest.list.v2+json';
const untyped = (body: Buffer) => Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), mediaType: undefined }));

test('a manifest without a mediaType keeps the type of its first push', async (t) => {
  const { send, app, engine } = await registryServer(t);
  await app.db.write((tx) => run(tx)`update registry.registry set immutable_tags = ${['v*']} where slug = 'acme'`);
  const child = imageOf([someBytes(100)]);
  await pushImage(send, 'acme/app', child.digest, child);
  const image = imageOf([someBytes(50)]);
  for (const blob of image.blobs) await pushBlob(send, 'acme/app', blob);
  const put = (reference: string, body: Buffer, type: string) =>
    send('PUT', `/v2/acme/app/manifests/${reference}`, { body, headers: { 'Content-Type': type } });
  const typeOf = async (reference: string) => (await send('HEAD', `/v2/acme/app/manifests/${reference}`)).headers['content-type'];

  for (const { tag, body, type, others } of [
    { tag: 'v1', body: untyped(indexOf([child]).body), type: indexOf([child]).type, others: [artifact, dockerList] },
    { tag: 'latest', body: untyped(image.body), type: image.type, others: [artifact] },
  ]) {
    assert.equal((await put(tag, body, type)).status, 201);
    for (const other of others)
      for (const reference of [tag, 'another', digestOf(body)]) {
        const refused = await put(reference, body, other);
        assert.deepEqual([refused.status, codeOf(refused)], [400, 'MANIFEST_INVALID'], `${reference} as ${other}`);
      }
    for (const reference of [tag, digestOf(body)]) assert.equal(await typeOf(reference), type);
    assert.equal((await put(tag, body, type)).status, 201, 'the same again is no change');
  }
  await app.db.write((tx) => moveClock(tx, 90 * 86_400));
  await collect(engine, new AbortController().signal, app.log);
  for (const blob of [...child.blobs, ...image.blobs])
    assert.equal((await send('HEAD', `/v2/acme/app/blobs/${digestOf(blob)}`)).status, 200);
});
