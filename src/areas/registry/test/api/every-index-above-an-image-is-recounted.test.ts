import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { eventually } from '../../../../../test/harness/process.ts';
import { rows, run } from '../../../../kernel/db/index.ts';
import { weighManifests } from '../../engine/gc/weigh.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { imageOf, indexOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

const Size = Type.Object({ size: Type.Integer() });

test('every index above an image is recounted when the image is pushed, however many there are', async (t) => {
  const { send, app } = await registryServer(t, { worker: true });
  const late = imageOf([someBytes(5_000)]);
  const inner = indexOf([late]);
  assert.equal((await putManifest(send, 'acme/app', inner.digest, inner)).status, 201);
  const { id } = (await app.db.read((tx) => repositoryByName(tx, 'reg_acme', 'app')))!;
  // 230 more indexes that list the image, and 120 that list the first of them.
  await app.db.write(async (tx) => {
    await run(tx)`
      insert into registry.manifest (org_id, repository_id, digest, media_type, body, size, pushed_by, created_at, content_bytes)
      select 'org_test', ${id}, 'sha256:' || lpad(n::text, 64, '0'), ${inner.type}, 'x', 1, 'k', kernel.now(), 1 from generate_series(1, 350) n`;
    await run(tx)`
      insert into registry.manifest_child (parent_id, repository_id, digest, size)
      select m.id, ${id}, case when n <= 230 then ${late.digest} else ${inner.digest} end, 1
        from generate_series(1, 350) n join registry.manifest m on m.repository_id = ${id} and m.digest = 'sha256:' || lpad(n::text, 64, '0')`;
  });
  await pushImage(send, 'acme/app', late.digest, late);
  const counted = () =>
    app.db.read((tx) => rows(tx, Size)`select coalesce(content_bytes, 0) as size from registry.manifest where repository_id = ${id}`);
  await eventually(async () => {
    await weighManifests(app, new AbortController().signal, app.log);
    return (await counted()).every(({ size }) => size > 5_000);
  });
  assert.equal((await counted()).length, 352);
});
