import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import Type from 'typebox';
import { eventually } from '../../../../../test/harness/process.ts';
import { row, rows } from '../../../../kernel/db/index.ts';
import { cached } from '../cached.ts';

/** The unit of sizes in this test. */
const piece = 256 * 1024;

test('a pull puts no more on the disk than the quota has room for, however many layers are asked for at once', async (t) => {
  const { upstream, pull, bytes, app, dataDir } = await cached(t, { QUARTERDECK_REGISTRY_QUOTA_BYTES: String(10 * piece) });
  const layers = Array.from({ length: 8 }, () => randomBytes(2 * piece));
  const image = upstream.image('team/app', 'v1', layers);
  await (await pull('up.test/team/app/manifests/v1')).arrayBuffer();
  const figures = async () =>
    (await app.db.read(
      (tx) => row(tx, Type.Object({ used: Type.Integer(), reserved: Type.Integer() }))`
        select used_bytes as used, reserved_bytes as reserved from registry.registry`,
    ))!;
  const fills = () => app.db.read((tx) => rows(tx, Type.Object({ reserved: Type.Integer() }))`select reserved from registry.upload`);

  upstream.gate.close();
  const answers = await Promise.all(image.layers.map((layer) => pull(`up.test/team/app/blobs/${layer}`)));
  assert.deepEqual(
    answers.map((answer) => answer.status),
    Array(8).fill(200),
  );
  const under = await figures();
  assert.ok(under.used + under.reserved <= 10 * piece, JSON.stringify(under));
  assert.equal((await fills()).length, 4, 'two layers are kept, each with the file that its readers share');
  assert.equal((await readdir(join(dataDir, 'storage', '.uploads')).catch(() => [])).length <= 2, true);
  upstream.gate.open();
  for (const [n, answer] of answers.entries()) assert.ok(Buffer.from(await answer.arrayBuffer()).equals(layers[n]!));

  await eventually(async () => (await figures()).reserved === 0);
  assert.ok((await figures()).used >= 4 * piece && (await figures()).used < 5 * piece);
  // A range of a passed-through layer, and one of a kept layer.
  for (const [n, layer] of image.layers.entries()) {
    const range = await bytes(`up.test/team/app/blobs/${layer}`, { headers: { range: 'bytes=100000-399999' } });
    assert.ok(range.equals(layers[n]!.subarray(100_000, 400_000)));
  }
});

test('a pass-through reader never gets the whole of a wrong layer', async (t) => {
  const { upstream, pull, app } = await cached(t, { QUARTERDECK_REGISTRY_QUOTA_BYTES: String(piece) });
  const image = upstream.image('team/app', 'v1', [randomBytes(2 * piece)]);
  await (await pull('up.test/team/app/manifests/v1')).arrayBuffer();
  upstream.fail(`storage/${image.layers[0]}`, { content: randomBytes(2 * piece) });
  const answer = await pull(`up.test/team/app/blobs/${image.layers[0]}`);
  assert.equal(answer.status, 200);
  await assert.rejects(answer.arrayBuffer());
  assert.equal((await Array.fromAsync(app.storage.list('sha256/'))).length, 0);
});
