import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { digestOf, imageOf, pushImage, putManifest, registryServer, sender, someBytes } from '../registry-server.ts';

test('an upload survives a restart of the server, and two servers share one store', async (t) => {
  const { connection, drop } = await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'qdr-'));
  const first = await registryServer(t, { connection, dataDir });
  const bytes = someBytes(3_000_000);
  const start = await first.send('POST', '/v2/acme/app/blobs/uploads/');
  await first.send('PATCH', start.headers.location!, { body: bytes.subarray(0, 1_700_000) });
  await first.stop();

  const second = await registryServer(t, { connection, dataDir });
  const status = await second.send('GET', start.headers.location!);
  assert.deepEqual([status.status, status.headers.range], [204, '0-1699999']);
  const done = await second.send('PUT', `${start.headers.location}?digest=${digestOf(bytes)}`, { body: bytes.subarray(1_700_000) });
  assert.equal(done.status, 201, done.body.toString());
  assert.ok((await second.send('GET', `/v2/acme/app/blobs/${digestOf(bytes)}`)).body.equals(bytes));

  // Another process on the same directory and database continues the uploads, and sees moves and deletions at once.
  const third = await registryServer(t, { connection, dataDir });
  const [two, three] = [second.send, sender(third.url)];
  const shared = await two('POST', '/v2/acme/app/blobs/uploads/');
  await two('PATCH', shared.headers.location!, { body: bytes.subarray(0, 100) });
  await three('PATCH', shared.headers.location!, { body: bytes.subarray(100, 200) });
  const short = bytes.subarray(0, 250);
  assert.equal((await two('PUT', `${shared.headers.location}?digest=${digestOf(short)}`, { body: short.subarray(200) })).status, 201);

  const [old, young] = [imageOf([short]), imageOf([short], { annotations: { young: 'yes' } })];
  await pushImage(two, 'acme/app', 'latest', old);
  assert.ok((await three('GET', '/v2/acme/app/manifests/latest')).body.equals(old.body));
  assert.equal((await putManifest(two, 'acme/app', 'latest', young)).status, 201);
  assert.ok(
    (
      await eventually(
        () => three('GET', '/v2/acme/app/manifests/latest'),
        (a) => a.body.equals(young.body),
      )
    ).body.equals(young.body),
  );
  await two('DELETE', `/v2/acme/app/manifests/${young.digest}`);
  assert.equal(
    (
      await eventually(
        () => three('GET', '/v2/acme/app/manifests/latest'),
        (a) => a.status === 404,
      )
    ).status,
    404,
  );

  // A machine with its own files cannot continue the upload, and says so.
  const elsewhere = await mkdtemp(join(tmpdir(), 'qdr-'));
  await copyFile(join(dataDir, 'secret.key'), join(elsewhere, 'secret.key'));
  // Its files claim to be this installation's, as after a copy made too early.
  await mkdir(join(elsewhere, 'blobs', 'installation'), { recursive: true });
  await copyFile(join(dataDir, 'blobs', 'installation', 'id'), join(elsewhere, 'blobs', 'installation', 'id'));
  const fourth = await registryServer(t, { connection, dataDir: elsewhere });
  const begun = await two('POST', '/v2/acme/app/blobs/uploads/');
  assert.equal((await fourth.send('GET', begun.headers.location!)).status, 404);

  for (const server of [second, third, fourth]) await server.stop();
  await drop();
  for (const folder of [dataDir, elsewhere]) await rm(folder, { recursive: true, force: true });
});

/** A NOTIFY arrives within 50 ms; the test allows a second. */
async function eventually<T>(ask: () => Promise<T>, isIt: (t: T) => boolean): Promise<T> {
  const end = performance.now() + 1_000;
  let last = await ask();
  while (!isIt(last) && performance.now() < end) last = await ask();
  return last;
}
