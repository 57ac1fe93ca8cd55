import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { maxPassThroughPerOrg } from '../../engine/pull-through/pass-through-limit.ts';
import { cached } from '../cached.ts';

const MiB = 1024 * 1024;

test('a full registry limits its pass-through downloads and asks its upstream for no more', async (t) => {
  const { upstream, pull } = await cached(t, { QUARTERDECK_REGISTRY_QUOTA_BYTES: String(MiB) });
  const layers = Array.from({ length: maxPassThroughPerOrg + 4 }, () => randomBytes(2 * MiB));
  const image = upstream.image('team/app', 'v1', layers);
  await (await pull('up.test/team/app/manifests/v1')).arrayBuffer();

  upstream.gate.close();
  const answers = await Promise.all([...image.layers, image.layers[0]!].map((layer) => pull(`up.test/team/app/blobs/${layer}`)));
  const refused = answers.filter((answer) => answer.status === 429);
  assert.equal(refused.length, 5);
  for (const answer of refused) {
    assert.equal(answer.headers.get('retry-after'), '5');
    assert.equal(answer.headers.get('cache-control'), null);
    assert.match(await answer.text(), /no room for this layer/);
  }
  assert.equal(upstream.elsewhere.length, maxPassThroughPerOrg);

  // A client that leaves frees a slot, and so does a finished download.
  upstream.gate.open();
  for (const answer of answers.filter((a) => a.status === 200)) await answer.arrayBuffer();
  await eventually(async () => {
    const answer = await pull(`up.test/team/app/blobs/${image.layers.at(-1)}`);
    return Buffer.from(await answer.arrayBuffer()).equals(layers.at(-1)!);
  });
  assert.equal(upstream.elsewhere.length, maxPassThroughPerOrg + 1);
});
