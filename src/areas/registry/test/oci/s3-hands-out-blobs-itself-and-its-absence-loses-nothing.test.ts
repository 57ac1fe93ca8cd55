import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeS3 } from '../../../../../test/fakes/s3.ts';
import { codeOf, digestOf, imageOf, pushBlob, pushImage, registryServer, someBytes } from '../registry-server.ts';

test('S3 hands out large blobs itself, and its absence loses nothing', async (t) => {
  const s3 = await fakeS3();
  t.after(() => s3.stop());
  const { send, app } = await registryServer(t, {
    env: {
      QUARTERDECK_STORAGE: `s3://${s3.bucket}`,
      QUARTERDECK_S3_ENDPOINT: s3.endpoint,
      QUARTERDECK_S3_REGION: s3.region,
      QUARTERDECK_S3_ACCESS_KEY: s3.accessKeyId,
      QUARTERDECK_S3_SECRET_KEY: s3.secretAccessKey,
    },
  });
  const large = someBytes(300_000);
  const image = imageOf([large]);
  await pushImage(send, 'acme/app', 'v1', image);
  const path = `/v2/acme/app/blobs/${digestOf(large)}`;

  const head = await send('HEAD', path);
  assert.deepEqual([head.status, head.headers['content-length']], [200, '300000']);
  const redirected = await send('GET', path);
  assert.equal(redirected.status, 307);
  const direct = await fetch(redirected.headers.location!);
  assert.deepEqual(Buffer.from(await direct.arrayBuffer()), large);
  const config = image.blobs[0]!;
  assert.ok((await send('GET', `/v2/acme/app/blobs/${digestOf(config)}`)).body.equals(config), 'small ones come from here');

  // An upload continues after an outage of S3 in its middle.
  const bytes = someBytes(200_000);
  const start = (await send('POST', '/v2/acme/app/blobs/uploads/')).headers.location!;
  assert.equal((await send('PATCH', start, { body: bytes.subarray(0, 100_000) })).status, 202);
  s3.trouble = () => ({ status: 403, code: 'AccessDenied' });
  for (const [method, where] of [
    ['POST', '/v2/acme/app/blobs/uploads/'],
    ['PATCH', start],
    ['PUT', `${start}?digest=${digestOf(bytes)}`],
  ] as const) {
    const answer = await send(method, where, { body: method === 'POST' ? Buffer.alloc(0) : bytes.subarray(100_000) });
    assert.deepEqual([answer.status, codeOf(answer)], [503, 'UNAVAILABLE'], method);
    assert.ok(answer.headers['retry-after']);
    assert.doesNotMatch(answer.body.toString(), /AccessDenied/, 'the words of S3 are not for clients');
  }
  s3.trouble = () => undefined;
  const status = await send('GET', start);
  const offset = Number(/-(\d+)$/.exec(String(status.headers.range))![1]) + 1;
  const done = await send('PUT', `${start}?digest=${digestOf(bytes)}`, { body: bytes.subarray(offset) });
  assert.equal(done.status, 201, done.body.toString());
  const again = await send('GET', `/v2/acme/app/blobs/${digestOf(bytes)}`);
  assert.deepEqual(Buffer.from(await (await fetch(again.headers.location!)).arrayBuffer()), bytes);
  await pushBlob(send, 'acme/app', someBytes(0));
  assert.ok(app.config.storage);
});
