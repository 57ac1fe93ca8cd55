import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { GuardFailure, type GuardResponse } from '../../../../kernel/guard/index.ts';
import type { UpstreamClient } from '../../clients/upstream/client.ts';
import { downloadBlob, maxResumes, ReadersGone } from '../../engine/pull-through/download.ts';
import { openSpool } from '../../engine/pull-through/spool.ts';
import { cached } from '../cached.ts';

test('retries to an upstream that always cuts, rate-limits us or refuses HEAD are limited', async (t) => {
  const { upstream, pull, bytes, clock, app, engine } = await cached(t);
  const layers = Array.from({ length: 6 }, () => randomBytes(200_000));
  const image = upstream.image('team/app', 'v1', layers);
  const [same, further, large, passed, left, unread] = image.layers as [string, string, string, string, string, string];
  const asked = (digest: string) => upstream.elsewhere.filter(({ path }) => path === digest).length;
  const blob = (digest: string) => `up.test/team/app/blobs/${digest}`;
  const fills = async (result: string) =>
    (await engine.metrics.cacheFills.get()).values.find((v) => v.labels.result === result)?.value ?? 0;
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200);

  await t.test('cuts at the same byte, by an upstream that ignores Range, are no progress', async () => {
    upstream.fail(`storage/${same}`, { cutAfter: 100_000, ignoresRange: true }, 200);
    await assert.rejects(bytes(blob(same)));
    await eventually(async () => (await fills('failed')) === 1);
    assert.ok(asked(same) <= 8, `${asked(same)} requests`); // a cut loses a varying number of the last bytes
  });

  await t.test('a little more each time is progress, and still ends', async () => {
    for (let i = 0; i < 200; i++) upstream.fail(`storage/${further}`, { cutAfter: 1_000 });
    await assert.rejects(bytes(blob(further)));
    await eventually(async () => (await fills('failed')) === 2);
    assert.equal(asked(further), 21);
  });

  await t.test('what is sent again and again is bounded by bytes', async () => {
    for (let i = 0; i < 200; i++) upstream.fail(`storage/${large}`, { cutAfter: 150_000 + i, ignoresRange: true });
    await assert.rejects(bytes(blob(large)));
    await eventually(async () => (await fills('failed')) === 3);
    assert.ok(asked(large) <= 11, `${asked(large)} requests`);
  });

  await t.test('the same holds where there is no room to keep a layer', async () => {
    await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = used_bytes`);
    upstream.fail(`storage/${passed}`, { cutAfter: 100_000, ignoresRange: true }, 200);
    await assert.rejects(bytes(blob(passed)));
    assert.ok(asked(passed) <= 8, `${asked(passed)} requests`);

    upstream.fail(`storage/${left}`, { cutAfter: 190_000 }, 1);
    upstream.fail(`storage/${left}`, 'silent', 200);
    const client = new AbortController();
    const answer = await pull(blob(left), { signal: client.signal });
    await answer.body!.getReader().read();
    await eventually(async () => asked(left) === 2);
    client.abort();
    await eventually(async () => upstream.pending() === 0);
    assert.equal(asked(left), 2);
  });

  await t.test('a refused HEAD is asked again as GET', async () => {
    for (const status of [403, 404, 405, 501]) {
      upstream.heal();
      upstream.fail('/v2/team/app/', { status }, 100, 'HEAD');
      await clock.advance('61s');
      const answer = await pull(`up.test/team/app/manifests/v1`);
      assert.equal(answer.status, 200, `manifest, ${status}`);
      assert.equal(answer.headers.get('warning'), null, `manifest, ${status}`);
      assert.equal((await pull(blob(unread), { method: 'HEAD' })).status, 200, `layer, ${status}`);
    }
    assert.equal((await pull('up.test/team/app/manifests/nothing')).status, 404);
    assert.equal((await pull(`up.test/team/app/blobs/sha256:${'0'.repeat(64)}`, { method: 'HEAD' })).status, 404);
  });

  await t.test('an upstream that wants us to wait for a day is asked again within minutes', async () => {
    for (const [host, status, told, most] of [
      ['up.test', 429, 429, 300],
      ['docker.io', 503, 502, 60],
    ] as const) {
      upstream.fail('/v2/team/busy/', { status, headers: { 'retry-after': '86400' } });
      const answer = await pull(`${host}/team/busy/manifests/v1`);
      assert.deepEqual([answer.status, Number(answer.headers.get('retry-after'))], [told, most]);
    }
  });
});

test('an announced size, however large, allows a limited number of requests', () => {
  assert.deepEqual([0, 40 * 1024 * 1024, 2 ** 53 - 1].map(maxResumes), [20, 30, 10_000]);
});

test('a download that was cut is not resumed once all of its readers have left', async () => {
  const spool = await openSpool(tmpdir(), 10);
  await spool.write(Buffer.from('01234'));
  assert.equal(spool.isAbandoned(), false, 'there was no reader yet');
  const leaving = new AbortController();
  const reader = spool.read({ offset: 0, length: 10 }, leaving.signal);
  assert.equal(String((await reader.next()).value), '01234');
  assert.equal(spool.isAbandoned(), false);
  const waiting = reader.next(); // for bytes that never come
  leaving.abort();
  assert.equal((await waiting).done, true);
  assert.equal(spool.isAbandoned(), true);

  let asked = 0;
  const client: UpstreamClient = { request: async () => assert.fail(`request ${++asked}`), acceptsLogin: async () => false };
  const target = { host: 'up.test', endpoint: 'http://127.0.0.1:9', registryId: 'r', path: 'team/app' };
  const body = async function* () {
    yield Buffer.from('01234');
    throw new GuardFailure('connection_reset', 'transfer', 'cut');
  };
  const first = { status: 200, headers: {}, body: body(), cancel: () => {} } as unknown as GuardResponse;
  const demand = { signal: new AbortController().signal, isAbandoned: spool.isAbandoned };
  await assert.rejects(
    Array.fromAsync(downloadBlob(client, { target, digest: 'sha256:x', size: 10, first }, demand, { windowMs: 60_000, bytesPerSecond: 1 })),
    ReadersGone,
  );
  assert.equal(asked, 0);
  await spool.release();
});
