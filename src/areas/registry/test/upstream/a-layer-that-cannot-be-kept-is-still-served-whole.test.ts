import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { openSpool } from '../../engine/pull-through/spool.ts';
import { cached } from '../cached.ts';

test('a layer that cannot be kept is still served whole, also to a slow reader', async (t) => {
  const { upstream, pull, app, engine } = await cached(t);
  const layer = randomBytes(24 * 1024 * 1024); // more than the socket buffers hold
  const image = upstream.image('team/app', 'v1', [layer]);
  await pull('up.test/team/app/manifests/v1');

  const { commit } = app.storage;
  app.storage.commit = async (...args) => {
    app.storage.commit = commit;
    await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = 0`);
    return commit(...args);
  };
  const slow = await pull(`up.test/team/app/blobs/${image.layers[0]}`);
  await eventually(async () => (await engine.metrics.cacheFills.get()).values.some((v) => v.labels.result === 'failed'));
  assert.ok(Buffer.from(await slow.arrayBuffer()).equals(layer));
});

test('a spool that is whole does not fail any more; one that is not fails its readers', async () => {
  const read = async (whole: boolean) => {
    const spool = await openSpool(tmpdir(), 10);
    await spool.write(Buffer.from('0123456789'));
    if (whole) spool.finish();
    spool.fail(new Error('no room'));
    const content = Array.fromAsync(spool.read());
    await spool.release();
    return Buffer.concat(await content).toString();
  };
  assert.equal(await read(true), '0123456789');
  await assert.rejects(read(false), /no room/);
});
