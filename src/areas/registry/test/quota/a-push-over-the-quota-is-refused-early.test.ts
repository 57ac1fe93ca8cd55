import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { expireUploads } from '../../engine/gc/expire-uploads.ts';
import { parseManifest, weightOf } from '../../rules/manifest.ts';
import { initialReservationBytes } from '../../store/uploads.ts';
import { type Answer, codeOf, digestOf, imageOf, pushBlob, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

const MiB = 1024 * 1024;

test('a push over the quota is refused early, with the numbers', async (t) => {
  const { send, registry, allow, app } = await registryServer(t);
  const quota = 5 * MiB;
  const tiny = { registryId: await registry('tiny', quota) };
  allow('bob', { tiny, acme: { registryId: 'reg_acme' } });
  const as = 'bob';
  const figures = async () =>
    (await app.db.read(
      (tx) => row(tx, Type.Object({ used_bytes: Type.Integer(), reserved_bytes: Type.Integer() }))`
    select used_bytes, reserved_bytes from registry.registry where slug = 'tiny'`,
    ))!;
  /** `reserved`: the upload's own reservation before its first byte. */
  const refused = (answer: Answer, needed: number, used: number, reserved = initialReservationBytes) => {
    assert.deepEqual([answer.status, codeOf(answer)], [403, 'DENIED']);
    const { detail, message } = (answer.json() as { errors: { detail: Record<string, number>; message: string }[] }).errors[0]!;
    assert.deepEqual(detail, { quotaBytes: quota, usedBytes: used, reservedBytes: reserved, neededBytes: needed - reserved });
    assert.match(message, new RegExp(`${quota} bytes, ${used} are used`));
  };
  const start = async () => (await send('POST', '/v2/tiny/app/blobs/uploads/', { as })).headers.location!;

  // By its Content-Length, before a byte is read.
  const large = someBytes(6 * MiB);
  refused(await send('PUT', `${await start()}?digest=${digestOf(large)}`, { as, body: large }), large.length, 0);
  refused(await send('PATCH', await start(), { as, body: large }), large.length, 0);
  refused(await send('POST', `/v2/tiny/app/blobs/uploads/?digest=${digestOf(large)}`, { as, body: large }), large.length, 0, 0);
  // A stream without a length: as soon as it exceeds the quota.
  const location = await start();
  let sent = 0;
  const endless = (async function* () {
    for (; sent < 400; sent++) yield large.subarray(0, MiB);
  })();
  const streamed = await send('PATCH', location, { as, body: endless }).catch(() => undefined);
  if (streamed) assert.deepEqual([streamed.status, codeOf(streamed)], [403, 'DENIED']);
  assert.ok(sent < 100, `${sent} MiB were taken`);
  assert.equal((await send('GET', location, { as })).status, 404, 'and the rest of it is thrown away');
  assert.deepEqual(await figures(), { used_bytes: 0, reserved_bytes: 0 });

  // A blob counts once per registry; a manifest's rows count in each repository.
  const layer = someBytes(3 * MiB);
  const image = imageOf([layer]);
  const weight = weightOf(parseManifest(image.body, image.type), image.body.length);
  const once = weight + image.blobs.reduce((sum, b) => sum + b.length, 0);
  await pushImage(send, 'tiny/app', 'v1', image, as);
  assert.deepEqual(await figures(), { used_bytes: once, reserved_bytes: 0 });
  await pushImage(send, 'tiny/copy', 'v1', image, as);
  const size = once + weight;
  assert.deepEqual(await figures(), { used_bytes: size, reserved_bytes: 0 });
  refused(await send('PUT', `${await start()}?digest=${digestOf(large)}`, { as, body: large.subarray(0, 3 * MiB) }), 3 * MiB, size);

  // Content of another registry counts here too: the quota tells no tenant about another tenant's content.
  await pushBlob(send, 'acme/app', large, { as });
  const mount = await send('POST', `/v2/tiny/app/blobs/uploads/?mount=${digestOf(large)}&from=acme/app`, { as });
  refused(mount, large.length, size, 0);

  // Reserved bytes are not available to other pushes until the upload is cancelled.
  const held = await start();
  assert.equal((await send('PATCH', held, { as, body: large.subarray(0, 1.5 * MiB) })).status, 202);
  assert.equal((await figures()).reserved_bytes, 1.5 * MiB);
  assert.equal((await send('PATCH', await start(), { as, body: large.subarray(0, 1.2 * MiB) })).status, 403);
  await app.db.write((tx) => run(tx)`update registry.upload set expires_at = kernel.now()`);
  assert.ok((await expireUploads(app, new AbortController().signal)) >= 1);
  assert.deepEqual(await figures(), { used_bytes: size, reserved_bytes: 0 });
  assert.equal((await send('GET', held, { as })).status, 404);
  const kept = await send('PATCH', await start(), { as, body: large.subarray(0, 1.5 * MiB) });
  assert.equal((await send('DELETE', kept.headers.location!, { as })).status, 204);
  assert.equal((await figures()).reserved_bytes, 0, 'a cancelled one gives its room back at once');

  // Nearly full: the push continues, with a Warning header.
  await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = ${size + 1000} where slug = 'tiny'`);
  assert.match(String((await send('POST', '/v2/tiny/app/blobs/uploads/', { as })).headers.warning), /^299 - "\d+ of the \d+ bytes/);

  // A full registry refuses the first request of a push; a manifest counts as well.
  await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = ${size} where slug = 'tiny'`);
  const full = await send('POST', '/v2/tiny/app/blobs/uploads/', { as });
  assert.deepEqual([full.status, codeOf(full)], [403, 'DENIED']);
  const other = imageOf([layer], { annotations: { more: 'x' } });
  assert.equal((await putManifest(send, 'tiny/app', 'v2', other, as)).status, 403);
  await send('DELETE', `/v2/tiny/app/manifests/${image.digest}`, { as });
  assert.deepEqual((await figures()).used_bytes, size - weight);
  await send('DELETE', `/v2/tiny/copy/manifests/${image.digest}`, { as });
  assert.deepEqual((await figures()).used_bytes, size - 2 * weight);
});
