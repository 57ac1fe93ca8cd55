import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { eventually } from '../../../../../test/harness/process.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { countContent } from '../../store/content.ts';
import { imageOf, indexOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

const Size = Type.Object({ id: Type.Integer(), size: Type.Union([Type.Integer(), Type.Null()]) });

test('an index that another transaction counts while its image is pushed is counted again', async (t) => {
  const { send, app } = await registryServer(t, { worker: true });
  const late = imageOf([someBytes(5_000)]);
  const index = indexOf([late]);
  assert.equal((await putManifest(send, 'acme/app', index.digest, index)).status, 201);
  const found = async () =>
    (await app.db.read((tx) => row(tx, Size)`select id, content_bytes as size from registry.manifest where digest = ${index.digest}`))!;
  const { id, size } = await found();
  assert.ok(size! < 5_000);

  const isCounted = Promise.withResolvers<void>();
  const isPushed = Promise.withResolvers<void>();
  const counting = app.db.write(async (tx) => {
    await run(tx)`select from registry.manifest where id = ${id} for no key update`;
    await countContent(tx, [id]);
    isCounted.resolve();
    await isPushed.promise;
  });
  await isCounted.promise;
  await pushImage(send, 'acme/app', late.digest, late); // it does not wait
  isPushed.resolve();
  await counting;
  await eventually(async () => ((await found()).size ?? 0) > 5_000);
});
