import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeS3 } from '../../../../../test/fakes/s3.ts';
import { digestOf, pushBlob, registryServer, someBytes } from '../registry-server.ts';

test('redirects to S3 live for seconds, and can be switched off', async (t) => {
  /** Each is a separate installation with its own storage. */
  const start = async (more: Record<string, string> = {}) => {
    const s3 = await fakeS3();
    t.after(() => s3.stop());
    return registryServer(t, {
      env: {
        QUARTERDECK_STORAGE: `s3://${s3.bucket}`,
        QUARTERDECK_S3_ENDPOINT: s3.endpoint,
        QUARTERDECK_S3_REGION: s3.region,
        QUARTERDECK_S3_ACCESS_KEY: s3.accessKeyId,
        QUARTERDECK_S3_SECRET_KEY: s3.secretAccessKey,
        ...more,
      },
    });
  };
  const large = someBytes(300_000);
  const path = `/v2/acme/app/blobs/${digestOf(large)}`;

  const sending = await start();
  await pushBlob(sending.send, 'acme/app', large);
  const redirected = await sending.send('GET', path);
  assert.equal(redirected.status, 307);
  assert.equal(new URL(redirected.headers.location!).searchParams.get('X-Amz-Expires'), '30');
  await sending.stop();

  const through = await start({ QUARTERDECK_S3_REDIRECT: 'off' });
  await pushBlob(through.send, 'acme/app', large);
  const answer = await through.send('GET', path);
  assert.equal(answer.status, 200);
  assert.ok(answer.body.equals(large));
  const part = await through.send('GET', path, { headers: { Range: 'bytes=1000-1999' } });
  assert.equal(part.status, 206);
  assert.ok(part.body.equals(large.subarray(1_000, 2_000)));
});
