import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { cached } from '../cached.ts';

test('an unavailable upstream is logged once and is no internal error', async (t) => {
  const { upstream, pull, clock, app } = await cached(t);
  const image = upstream.image('team/app', 'v1', [randomBytes(100)]);
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200);
  const warned = t.mock.method(app.log, 'warn', () => {});
  const failed = t.mock.method(app.log, 'error', () => {});

  for (const path of ['manifests/v1', 'manifests/v2', 'tags/list', `blobs/${image.layers[0]}`])
    await (await pull(`gone.test/team/app/${path}`)).arrayBuffer();
  upstream.fail('/v2/', { status: 502 }, 1_000);
  await clock.advance('61s');
  const stale = await pull('up.test/team/app/manifests/v1');
  assert.equal(stale.status, 200);
  assert.equal((await pull(`up.test/team/app/blobs/${image.layers[0]}`)).status, 502);

  const lines = warned.mock.calls.map((call) => call.arguments as unknown as [Record<string, unknown>, string]);
  assert.deepEqual(
    lines.map(([fields]) => fields['upstream']),
    ['gone.test', 'up.test'],
  );
  assert.match(String(lines[0]![0]['error']), /gone\.test is unreachable/);
  assert.ok(!lines.some(([fields]) => 'err' in fields), 'no stack');
  assert.equal(failed.mock.callCount(), 0);
});
