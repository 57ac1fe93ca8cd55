import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { collect } from '../../engine/gc/collect.ts';
import { purgeManifest } from '../../engine/purge.ts';
import { lockLink } from '../../store/blobs.ts';
import { promiseBlob } from '../../store/promises.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { codeOf, digestOf, type Image, imageOf, pushBlob, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

const { signal } = new AbortController();

test('a promise ends when its layer is pushed again, or deleted', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const work = () => collect(engine, signal, app.log);
  const stored = async () => (await Array.fromAsync(app.storage.list('sha256/'))).length;
  const promises = () => app.db.read((tx) => run(tx)`select from registry.promised_blob`);
  const pushAndPurge = async (image: Image) => {
    await pushImage(send, 'acme/app', 'v1', image);
    const leaving = { delaySeconds: 0, graceSeconds: 0 } as const;
    await app.db.write(async (tx) =>
      purgeManifest(tx, app.caches, (await repositoryByName(tx, 'reg_acme', 'app'))!, image.digest, leaving),
    );
    await work();
  };
  const remove = (bytes: Buffer) => send('DELETE', `/v2/acme/app/blobs/${digestOf(bytes)}`);
  const refused = async (image: Image) => {
    const put = await putManifest(send, 'acme/app', 'v2', image);
    assert.deepEqual([put.status, codeOf(put)], [404, 'MANIFEST_BLOB_UNKNOWN']);
  };

  await t.test('pushed again, it is linked; deleted then, it is gone', async () => {
    const image = imageOf([someBytes(1_000)]);
    await pushAndPurge(image);
    assert.deepEqual([await promises(), await stored()], [2, 2]);
    for (const blob of image.blobs) await pushBlob(send, 'acme/app', blob);
    assert.equal(await promises(), 0);
    for (const blob of image.blobs) assert.equal((await remove(blob)).status, 202);
    await work();
    assert.equal(await stored(), 0);
    await refused(image);
  });

  await t.test('deleted while it is only promised, it is gone, and no image restores it', async () => {
    const image = imageOf([someBytes(1_000)]);
    await pushAndPurge(image);
    for (const blob of image.blobs) assert.equal((await remove(blob)).status, 404);
    await refused(image);
    await work();
    assert.equal(await stored(), 0);
  });

  await t.test('a renewed promise counts once against the limit', async () => {
    const layer = someBytes(1_000);
    await pushBlob(send, 'acme/app', layer);
    await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = 1500`);
    const ids = (await app.db.read(
      (tx) => row(tx, Type.Object({ repository_id: Type.Integer(), blob_id: Type.Integer() }))`
        select repository_id, blob_id from registry.repository_blob`,
    ))!;
    const until = async (delaySeconds: number) => {
      await app.db.write(async (tx) => {
        const link = (await lockLink(tx, ids.repository_id, ids.blob_id, delaySeconds))!;
        await promiseBlob(tx, link, link.due_at);
      });
      return Date.parse(
        (await app.db.read((tx) => row(tx, Type.Object({ until: Type.String() }))`select until from registry.promised_blob`))!.until,
      );
    };
    const first = await until(60);
    assert.equal((await until(3_660)) - first, 3_600_000);
  });
});
