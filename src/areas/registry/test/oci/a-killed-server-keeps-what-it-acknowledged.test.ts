import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Type from 'typebox';
import { makeChance, untilAnyMoment } from '../../../../../test/harness/kill/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { scrub } from '../../engine/gc/scrub.ts';
import { standAlone } from '../kill-campaign.ts';
import { digestOf, type Image, imageOf, registryServer, type Send, sender, someBytes } from '../registry-server.ts';

test('a server killed at any moment keeps what it acknowledged', async (t) => {
  const { connection, drop } = await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'qdr-'));
  const blobs = new Map<string, Buffer>();
  const images: Image[] = [];
  const begun: { location: string; acknowledged: number; bytes: Buffer }[] = [];

  const chance = makeChance(t);
  const servers = standAlone(t, dataDir, connection);
  for (let round = 0; round < 2; round++) {
    const send = sender(await servers.start().ready);
    let alive = true;
    const push = async () => {
      while (alive) await pushOne(send, blobs, images, begun);
    };
    const pushing = Promise.allSettled(Array.from({ length: 4 }, push));
    await untilAnyMoment(chance, () => images.length, 2 + chance.below(3), 30);
    await servers.kill();
    alive = false;
    await pushing;
  }
  assert.ok(blobs.size > 5 && images.length > 1, `only ${blobs.size} blobs and ${images.length} images were pushed`);

  const { send, app, engine, stop } = await registryServer(t, { connection, dataDir });
  const verify = async () => {
    for (const [digest, bytes] of blobs) assert.ok((await send('GET', `/v2/acme/app/blobs/${digest}`)).body.equals(bytes), digest);
    for (const image of images) assert.ok((await send('GET', `/v2/acme/app/manifests/${image.digest}`)).body.equals(image.body));
  };
  await verify();
  // An upload continues at its last acknowledged chunk, or later.
  for (const { location, acknowledged, bytes } of begun.slice(-5)) {
    const status = await send('GET', location);
    if (status.status === 404) continue; // finished; only the answer was lost
    const held = /^0-(\d+)$/.exec(String(status.headers.range))!;
    const offset = Number(held[1]) === 0 ? acknowledged : Number(held[1]) + 1;
    assert.ok(offset >= acknowledged, `${acknowledged} bytes were acknowledged, ${offset} are there`);
    const done = await send('PUT', `${location}?digest=${digestOf(bytes)}`, { body: bytes.subarray(offset) });
    assert.equal(done.status, 201, done.body.toString());
    blobs.set(digestOf(bytes), bytes);
  }
  // Only the remains of the crashes are deleted.
  await app.db.write((tx) => moveClock(tx, 3 * 86_400));
  await scrub(engine, new AbortController().signal, app.log);
  const keys = await app.db.read(
    (tx) => rows(tx, Type.Object({ storage_key: Type.String() }))`select storage_key from registry.blob order by storage_key collate "C"`,
  );
  assert.deepEqual(
    (await Array.fromAsync(app.storage.list('sha256/'))).map((o) => o.key).sort(),
    keys.map((k) => k.storage_key),
  );
  await verify();
  await stop();
  await drop();
  await rm(dataDir, { recursive: true, force: true });
});

async function pushOne(
  send: Send,
  blobs: Map<string, Buffer>,
  images: Image[],
  begun: { location: string; acknowledged: number; bytes: Buffer }[],
) {
  const image = imageOf([someBytes(randomInt(200_000))]);
  for (const bytes of image.blobs) {
    const start = await send('POST', '/v2/acme/app/blobs/uploads/');
    const state = { location: start.headers.location!, acknowledged: 0, bytes };
    begun.push(state);
    const half = Math.ceil(bytes.length / 2);
    const chunk = await send('PATCH', state.location, { body: bytes.subarray(0, half) });
    if (chunk.status === 202) state.acknowledged = half;
    const done = await send('PUT', `${state.location}?digest=${digestOf(bytes)}`, { body: bytes.subarray(half) });
    if (done.status === 201) {
      blobs.set(digestOf(bytes), bytes);
      begun.splice(begun.indexOf(state), 1);
    }
  }
  const put = await send('PUT', `/v2/acme/app/manifests/${image.digest}`, { body: image.body, headers: { 'Content-Type': image.type } });
  if (put.status === 201) images.push(image);
}
