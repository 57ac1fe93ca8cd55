import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { cached } from '../cached.ts';

test('the cache outlives what goes wrong upstream', async (t) => {
  const { upstream, pull, bytes, clock, engine } = await cached(t);
  const layer = randomBytes(500_000);
  const image = upstream.image('team/app', 'v1', [layer, randomBytes(400_000), randomBytes(10_000)]);
  const [whole, wrong, limited] = image.layers as [string, string, string];
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200);

  await t.test('a layer that is cut off is asked for from there on', async () => {
    upstream.fail(`storage/${whole}`, { cutAfter: 200_000 });
    upstream.fail(`storage/${whole}`, { cutAfter: 100_000 });
    assert.ok((await bytes(`up.test/team/app/blobs/${whole}`)).equals(layer));
    const ranges = upstream.elsewhere.map((e) => e.headers.range).filter(Boolean);
    assert.equal(ranges.length, 2);
    assert.match(ranges[1]!, /^bytes=[1-9]\d*-$/);
  });

  await t.test('wrong content is never given out whole, nor kept', async () => {
    upstream.fail(`storage/${wrong}`, { content: randomBytes(400_000) });
    await assert.rejects(bytes(`up.test/team/app/blobs/${wrong}`));
    assert.equal((await bytes(`up.test/team/app/blobs/${wrong}`)).length, 400_000, 'the next one asks again');
  });

  await t.test('a layer of another size than the image says is refused', async () => {
    upstream.fail(`storage/${limited}`, { content: randomBytes(20_000) });
    assert.equal((await pull(`up.test/team/app/blobs/${limited}`)).status, 502);
    assert.equal((await bytes(`up.test/team/app/blobs/${limited}`)).length, 10_000);
  });

  await t.test('an upstream that rate-limits us gets a cooldown, and the copy is served with a Warning', async () => {
    await clock.advance('61s');
    upstream.fail('/v2/team/app/manifests/v1', { status: 429, headers: { 'retry-after': '2' } }, 100);
    const stale = await pull('up.test/team/app/manifests/v1');
    assert.equal(stale.status, 200);
    assert.match(stale.headers.get('warning') ?? '', /^299 - ".*limits how often/);
    const asked = upstream.seen.length;
    await clock.advance('61s');
    assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200);
    assert.equal(upstream.seen.length, asked, 'it was not asked while it rests');
    const unknown = await pull('up.test/team/app/manifests/v2');
    assert.equal(unknown.status, 429);
    assert.ok(Number(unknown.headers.get('retry-after')) >= 1);
  });

  await t.test('an unreachable upstream is reported as such', async () => {
    const answer = await pull('gone.test/team/app/manifests/v1');
    assert.equal(answer.status, 502);
    assert.match(await answer.text(), /gone\.test is unreachable/);
  });

  await t.test('and what happened can be counted', async () => {
    const counted = new Map(
      (await engine.metrics.cacheManifests.get()).values.map((v) => [`${v.labels.upstream} ${v.labels.result}`, v.value]),
    );
    assert.deepEqual([counted.get('up.test stale'), counted.get('up.test away'), counted.get('gone.test away')], [2, 1, 1]);
    const fills = new Map((await engine.metrics.cacheFills.get()).values.map((v) => [v.labels.result, v.value]));
    assert.deepEqual([fills.get('whole'), fills.get('failed')], [3, 1]);
  });
});
