import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Type from 'typebox';
import { fakeS3 } from '../../../../../test/fakes/s3.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { row } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { collect } from '../../engine/gc/collect.ts';
import { expireUploads } from '../../engine/gc/expire-uploads.ts';
import { leaseTimes } from '../../engine/push/write-leases.ts';
import { deleteRegistry } from '../../engine/registries.ts';
import { removeRepository } from '../../engine/repository-removal.ts';
import { lockRegistry } from '../../store/registries.ts';
import { type Options, registryServer, someBytes } from '../registry-server.ts';

const MiB = 1024 * 1024;
const { signal } = new AbortController();
const Figures = Type.Object({ used: Type.Integer(), reserved: Type.Integer() });
const as = 'bob';

/** A registry with a quota of 5 MiB, and the bytes of its uploads in the storage. */
async function smallRegistry(t: TestContext, options: Options = {}, bytesInS3?: () => number) {
  const server = await registryServer(t, options);
  const { app, engine, send, dataDir } = server;
  const create = async () => server.allow(as, { tiny: { registryId: await server.registry('tiny', 5 * MiB) } });
  await create();
  const stored = async () => {
    if (bytesInS3) return bytesInS3();
    const files = (await readdir(dataDir, { recursive: true })).filter((name) => name.includes('.uploads/'));
    return (await Promise.all(files.map(async (name) => (await stat(join(dataDir, name))).size))).reduce((sum, size) => sum + size, 0);
  };
  const figures = () =>
    app.db.read((tx) => row(tx, Figures)`select used_bytes as used, reserved_bytes as reserved from registry.registry where slug = 'tiny'`);
  const begin = () => send('POST', '/v2/tiny/app/blobs/uploads/', { as });
  const remove = () => app.db.write((tx) => removeRepository(tx, app.caches, 'reg_tiny', 'app'));
  const isRemoved = async () =>
    (await app.db.read((tx) => row(tx, Type.Object({ n: Type.Integer() }))`select count(*)::int as n from registry.repository`))!.n === 0;
  /** The bytes go, and the repository with them. */
  const settle = async () => {
    await expireUploads(app, signal);
    await collect(engine, signal, app.log);
    assert.ok(await isRemoved());
    assert.equal(await stored(), 0);
  };
  return { ...server, create, stored, figures, begin, remove, settle };
}

async function fillAndRemove(registry: Awaited<ReturnType<typeof smallRegistry>>) {
  const { send, begin, remove, stored, figures, settle } = registry;
  const body = someBytes(4 * MiB);
  for (let round = 0; round < 3; round++) {
    const begun = await begin();
    if (begun.status === 202) await send('PATCH', begun.headers.location!, { as, body });
    await remove();
    assert.ok((await stored()) <= 5 * MiB, `${await stored()} bytes are stored under a quota of ${5 * MiB}`);
    assert.ok((await figures())!.reserved >= (await stored()), 'stored bytes are reserved');
  }
  await registry.app.db.write((tx) => moveClock(tx, leaseTimes.leaseSeconds * 2));
  await settle();
  assert.deepEqual(await figures(), { used: 0, reserved: 0 });
}

test('uploads of a removed repository count until their bytes are deleted', async (t) => {
  const registry = await smallRegistry(t);
  const { app, send, begin, remove, stored, figures, settle, create } = registry;
  await fillAndRemove(registry);

  await t.test('a request that is still sending ends, and its bytes go', async (t) => {
    const { localLeaseMs } = leaseTimes;
    leaseTimes.localLeaseMs = 0; // each write checks the row
    t.after(() => {
      leaseTimes.localLeaseMs = localLeaseMs;
    });
    const location = (await begin()).headers.location!;
    const bytes = someBytes(2 * MiB);
    async function* interrupted() {
      yield bytes;
      await eventually(async () => (await stored()) >= MiB);
      await remove();
      await expireUploads(app, signal);
      assert.ok((await figures())!.reserved >= (await stored()));
      yield bytes;
    }
    const headers = { 'Content-Length': 4 * MiB };
    const ended = await send('PATCH', location, { as, headers, body: interrupted() });
    assert.ok([404, 409].includes(ended.status), `${ended.status} ${ended.body}`);
    assert.ok((await stored()) < 4 * MiB);
    await app.db.write((tx) => moveClock(tx, leaseTimes.leaseSeconds));
    await settle();
    assert.deepEqual(await figures(), { used: 0, reserved: 0 });
  });

  await t.test('also after their registry is deleted', async () => {
    await send('PATCH', (await begin()).headers.location!, { as, body: someBytes(MiB) });
    await remove();
    await app.db.write(async (tx) => deleteRegistry(tx, app.caches, 'org_test', (await lockRegistry(tx, 'org_test', 'tiny'))!));
    await create();
    assert.equal(await stored(), MiB);
    await settle();
    assert.deepEqual(await figures(), { used: 0, reserved: 0 });
  });

  await t.test('one whose bytes cannot be deleted stops no other', async (t) => {
    const bad = (await begin()).headers.location!.split('/').at(-1)!;
    await send('PATCH', (await begin()).headers.location!, { as, body: someBytes(MiB) });
    await remove();
    await app.db.write((tx) => moveClock(tx, leaseTimes.leaseSeconds * 2));
    const { abort } = app.storage;
    t.after(() => {
      app.storage.abort = abort;
    });
    app.storage.abort = async (id) => {
      if (id === bad) throw new Error('a bad sector');
      return abort(id);
    };
    await assert.rejects(expireUploads(app, signal), /could not be deleted/);
    assert.equal(await stored(), 0);
    app.storage.abort = abort;
    await settle();
    assert.deepEqual(await figures(), { used: 0, reserved: 0 });
  });
});

test('the same in S3', async (t) => {
  const s3 = await fakeS3();
  t.after(() => s3.stop());
  const env = {
    QUARTERDECK_STORAGE: `s3://${s3.bucket}`,
    QUARTERDECK_S3_ENDPOINT: s3.endpoint,
    QUARTERDECK_S3_REGION: s3.region,
    QUARTERDECK_S3_ACCESS_KEY: s3.accessKeyId,
    QUARTERDECK_S3_SECRET_KEY: s3.secretAccessKey,
  };
  const bytesInS3 = () => [...s3.objects].reduce((sum, [key, { body }]) => sum + (key.includes('.uploads/') ? body.length : 0), 0);
  await fillAndRemove(await smallRegistry(t, { env }, bytesInS3));
});
