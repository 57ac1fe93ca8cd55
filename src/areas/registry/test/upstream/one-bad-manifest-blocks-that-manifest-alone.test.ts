import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { type Fault, sha256 } from '../../../../../test/fakes/upstream-registry.ts';
import { cached } from '../cached.ts';

/** A manifest of schema 1. */
const ancient = Buffer.from('{"schemaVersion": 1, "mediaType": "application/vnd.docker.distribution.manifest.v1+json"}');
const bad: Record<string, Fault> = {
  garbled: { content: Buffer.from('this is not what it was') },
  cut: { cutAfter: 10 },
  refused: { status: 418 },
  failing: { status: 500 },
};

test('one bad manifest of an upstream blocks that manifest alone', async (t) => {
  const { upstream, pull, clock } = await cached(t);
  upstream.image('team/fine', 'v1', [randomBytes(1_000)]);
  upstream.manifest('team/bad', 'none', ancient);
  for (const tag of Object.keys(bad)) {
    const { digest } = upstream.image('team/bad', tag, [randomBytes(1_000)]);
    upstream.fail(tag === 'failing' || tag === 'refused' ? `team/bad/manifests/${tag}` : `team/bad/manifests/${digest}`, bad[tag]!, 100);
  }
  let fine = 0;
  for (const tag of [...Object.keys(bad), 'none']) {
    const answer = await pull(`up.test/team/bad/manifests/${tag}`);
    assert.equal(answer.status, 502, tag);
    const sentence = await answer.text();
    const asked = upstream.count('GET /v2/team/bad') + upstream.count('HEAD /v2/team/bad');
    const again = await pull(`up.test/team/bad/manifests/${tag}`);
    assert.deepEqual([again.status, await again.text()], [502, sentence], 'it rests, and says its own words');
    assert.equal(upstream.count('GET /v2/team/bad') + upstream.count('HEAD /v2/team/bad'), asked, `${tag} is not asked for again at once`);
    upstream.image('team/fine', `v${fine}`, [randomBytes(1_000)]);
    assert.equal((await pull(`up.test/team/fine/manifests/v${fine++}`)).status, 200, `another image is fetched beside ${tag}`);
  }

  await t.test('the previous copy of a bad tag is served with a Warning', async () => {
    upstream.manifest('team/fine', 'v1', ancient);
    await clock.advance('61s');
    const answer = await pull('up.test/team/fine/manifests/v1');
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('warning') ?? '', /is not taken: manifests of schema 1 .*copy from before/);
    assert.notEqual(answer.headers.get('docker-content-digest'), sha256(ancient));
  });

  await t.test('an unavailable upstream gets a cooldown as a whole', async () => {
    upstream.image('team/fine', 'later', [randomBytes(1_000)]);
    upstream.fail('team/fine/manifests/gone', { status: 503 });
    assert.equal((await pull('up.test/team/fine/manifests/gone')).status, 502);
    const asked = upstream.seen.length;
    assert.equal((await pull('up.test/team/fine/manifests/later')).status, 502);
    assert.equal(upstream.seen.length, asked);
  });
});
