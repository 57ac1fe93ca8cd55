import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Type from 'typebox';
import { fakeS3 } from '../../../../../test/fakes/s3.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { row } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { leaseTimes } from '../../engine/push/write-leases.ts';
import { codeOf, digestOf, registryServer, sender, someBytes } from '../registry-server.ts';

const KiB = 1024;

async function twoServers(t: TestContext, env: Record<string, string>) {
  const { connection, drop } = await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'qdr-'));
  const one = await registryServer(t, { connection, dataDir, env });
  const two = await registryServer(t, { connection, dataDir, env });
  t.after(async () => {
    for (const server of [one, two]) await server.stop();
    await drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { one, first: sender(one.url), second: sender(two.url) };
}

/** `kept`: how many of the first bytes are in the storage before more arrive; S3 gets larger parts. */
async function tryBoth(t: TestContext, kept: number, env: Record<string, string>) {
  const { one, first, second } = await twoServers(t, env);
  const begun = first('POST', '/v2/acme/app/blobs/uploads/');
  const at = (await begun).headers.location!;
  const goOn = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const slow = (async function* () {
    yield someBytes(256 * KiB);
    arrived.resolve();
    await goOn.promise;
    yield someBytes(512 * KiB);
  })();
  const stalled = first('PATCH', at, { body: slow });
  await arrived.promise;
  const isTaken = async () => {
    const taken = await one.app.db.read(
      (tx) => row(tx, Type.Object({ yes: Type.Boolean() }))`select writer is not null as yes from registry.upload`,
    );
    assert.equal(taken!.yes, true);
    assert.equal((await second('GET', at)).headers.range, `0-${Math.max(0, kept - 1)}`);
  };
  await t.waitFor(isTaken, { timeout: 10_000 });
  const busy = await second('PATCH', at, { body: someBytes(10) });
  assert.deepEqual([busy.status, codeOf(busy)], [409, 'BLOB_UPLOAD_INVALID']);

  // The first server stops renewing its lease, like a frozen process: the second continues the upload.
  await one.app.db.write((tx) => moveClock(tx, leaseTimes.leaseSeconds + 1));
  const range = String((await second('GET', at)).headers.range);
  const offset = range === '0-0' ? 0 : Number(/-(\d+)$/.exec(range)![1]) + 1;
  const rest = someBytes(1_024 * KiB);
  assert.equal((await second('PATCH', at, { body: rest })).status, 202);

  // The first server wakes up: none of its bytes is written any more.
  goOn.resolve();
  const late = await stalled;
  assert.deepEqual([late.status, codeOf(late)], [409, 'BLOB_UPLOAD_INVALID']);
  assert.equal((await second('GET', at)).headers.range, `0-${offset + rest.length - 1}`);
  return { first, second, at, offset, rest };
}

test('two servers that share a directory do not write to one upload', async (t) => {
  const { localLeaseMs: ownMs } = leaseTimes;
  leaseTimes.localLeaseMs = 0; // each write checks the row
  t.after(() => {
    leaseTimes.localLeaseMs = ownMs;
  });
  const { first, second, at, offset, rest } = await tryBoth(t, 256 * KiB, {});
  // The bytes of the first server are unknown here, so a new upload shows that the result equals the bytes sent.
  assert.ok(offset >= 0);
  assert.equal((await second('DELETE', at)).status, 204);
  const again = (await first('POST', '/v2/acme/app/blobs/uploads/')).headers.location!;
  assert.equal((await first('PATCH', again, { body: rest.subarray(0, 1_000) })).status, 202);
  assert.equal((await second('PATCH', again, { body: rest.subarray(1_000, 2_000) })).status, 202);
  const done = await first('PUT', `${again}?digest=${digestOf(rest)}`, { body: rest.subarray(2_000) });
  assert.equal(done.status, 201, 'taking turns is fine');
  assert.ok((await second('GET', `/v2/acme/app/blobs/${digestOf(rest)}`)).body.equals(rest));
});

test('two servers that share a bucket do not write to one upload', async (t) => {
  const { localLeaseMs: ownMs } = leaseTimes;
  leaseTimes.localLeaseMs = 0;
  t.after(() => {
    leaseTimes.localLeaseMs = ownMs;
  });
  const s3 = await fakeS3();
  t.after(() => s3.stop());
  await tryBoth(t, 0, {
    QUARTERDECK_STORAGE: `s3://${s3.bucket}`,
    QUARTERDECK_S3_ENDPOINT: s3.endpoint,
    QUARTERDECK_S3_REGION: s3.region,
    QUARTERDECK_S3_ACCESS_KEY: s3.accessKeyId,
    QUARTERDECK_S3_SECRET_KEY: s3.secretAccessKey,
  });
});
