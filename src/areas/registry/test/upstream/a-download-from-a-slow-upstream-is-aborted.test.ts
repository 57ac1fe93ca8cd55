import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { GuardFailure, type GuardResponse } from '../../../../kernel/guard/index.ts';
import type { UpstreamClient } from '../../clients/upstream/client.ts';
import { downloadBlob } from '../../engine/pull-through/download.ts';
import { cached } from '../cached.ts';

const target = { host: 'up.test', endpoint: 'http://127.0.0.1:9', registryId: 'r', path: 'team/app' };
const slowest = { windowMs: 60_000, bytesPerSecond: 16 * 1024 };
const demand = { signal: new AbortController().signal, isAbandoned: () => false };

/**
 * A download on a clock that advances with every chunk: each has this many bytes and arrives after this many seconds. The reader is slow.
 */
async function download(chunks: { bytes: number; seconds: number; cut?: true }[], readerSeconds = 0) {
  let at = 0;
  let asked = 0;
  const left = [...chunks];
  const body = async function* () {
    for (let next = left.shift(); next; next = left.shift()) {
      at += next.seconds * 1000;
      if (next.cut) throw new GuardFailure('timeout', 'transfer', 'nothing came');
      yield Buffer.alloc(next.bytes);
    }
  };
  const answer = (status: number, headers = {}) => ({ status, headers, body: body(), cancel: () => {} }) as unknown as GuardResponse;
  const size = chunks.reduce((sum, chunk) => sum + chunk.bytes, 0);
  let sent = 0;
  const client: UpstreamClient = {
    request: async () => {
      asked++;
      return answer(206, { 'content-range': `bytes ${sent}-${size - 1}/${size}` });
    },
    acceptsLogin: async () => false,
  };
  const content = downloadBlob(client, { target, digest: 'sha256:x', size, first: answer(200) }, demand, slowest, () => at);
  try {
    for await (const chunk of content) {
      sent += chunk.length;
      at += readerSeconds * 1000;
    }
    return { sent, asked, seconds: at / 1000 };
  } catch (error) {
    return { sent, asked, seconds: at / 1000, error: (error as Error).message };
  }
}

test('a download from an upstream that sends a byte every 29 s is aborted within two minutes; a slow reader does not count', async () => {
  const trickle = await download(Array.from({ length: 1_000 }, () => ({ bytes: 1, seconds: 29 })));
  assert.match(trickle.error!, /up.test sent 2 bytes in 87 s, which is too slow/);
  const cutting = await download(
    Array.from({ length: 1_000 }, (_, i) => (i % 2 ? { bytes: 0, seconds: 30, cut: true } : { bytes: 1, seconds: 1 })),
  );
  assert.match(cutting.error!, /too slow/);
  assert.ok(cutting.seconds < 120 && cutting.asked <= 3, JSON.stringify(cutting));

  const late = await download([
    ...Array.from({ length: 100 }, () => ({ bytes: 64 * 1024, seconds: 1 })),
    ...Array.from({ length: 100 }, () => ({ bytes: 1, seconds: 29 })),
  ]);
  assert.match(late.error!, /too slow/, 'also one that was quick before');
  const steady = Array.from({ length: 300 }, () => ({ bytes: 17 * 1024, seconds: 1 }));
  assert.equal((await download(steady)).error, undefined);
  assert.equal((await download(steady, 600)).error, undefined);
});

test('a pull from a slow upstream ends, whether or not the layer can be kept', async (t) => {
  const { upstream, pull, bytes, app, engine } = await cached(t);
  const image = upstream.image('team/app', 'v1', [randomBytes(200_000), randomBytes(200_000)]);
  const [kept, passed] = image.layers as [string, string];
  const blob = (digest: string) => `up.test/team/app/blobs/${digest}`;
  assert.equal((await pull('up.test/team/app/manifests/v1')).status, 200);
  engine.settings.minUpstreamRate = { windowMs: 200, bytesPerSecond: 16 * 1024 };
  upstream.fail('storage/', { byteEveryMs: 20 }, 2);

  await assert.rejects(bytes(blob(kept)));
  await eventually(async () => upstream.pending() === 0);
  await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = used_bytes`);
  await assert.rejects(bytes(blob(passed)));
  await eventually(async () => upstream.pending() === 0);
  assert.equal(upstream.elsewhere.length, 2, 'neither is asked for again');
});
