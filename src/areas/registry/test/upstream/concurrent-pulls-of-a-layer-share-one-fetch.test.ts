import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { cached } from '../cached.ts';

test('concurrent pulls of a layer share one fetch and read it as it arrives', async (t) => {
  const { upstream, pull, bytes } = await cached(t);
  const layer = randomBytes(2_000_000);
  const image = upstream.image('team/app', 'v1', [layer]);
  const path = `up.test/team/app/blobs/${image.layers[0]}`;
  await pull('up.test/team/app/manifests/v1');

  upstream.gate.close();
  const leaver = new AbortController();
  const first = await pull(path, { signal: leaver.signal });
  const others = await Promise.all([pull(path), pull(path)]);
  const part = bytes(path, { headers: { range: 'bytes=1500000-1500099' } }); // beyond the bytes that the upstream has sent so far
  const reader = others[0]!.body!.getReader();
  const { value } = await reader.read();
  assert.ok(value && value.length > 0, 'bytes arrive before the upstream has sent all');
  leaver.abort(); // the first client leaves
  upstream.gate.open();

  const rest = [Buffer.from(value)];
  for (let step = await reader.read(); !step.done; step = await reader.read()) rest.push(Buffer.from(step.value));
  assert.ok(Buffer.concat(rest).equals(layer));
  assert.ok(Buffer.from(await others[1]!.arrayBuffer()).equals(layer));
  assert.ok((await part).equals(layer.subarray(1_500_000, 1_500_100)));
  assert.equal(upstream.elsewhere.length, 1);
  assert.equal(first.status, 200);
});
