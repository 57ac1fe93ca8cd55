import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { row, rows, run } from '../../../kernel/db/index.ts';
import { collect } from '../engine/gc/collect.ts';
import { parseManifest, weightOf } from '../rules/manifest.ts';
import {
  codeOf,
  digestOf,
  type Image,
  imageOf,
  pushBlob,
  putManifest,
  registryServer,
  type Send,
  someBytes,
  type TestRegistry,
} from './registry-server.ts';

const repositories = ['acme/one', 'acme/two', 'acme/three'];

interface Options {
  servers?: 1 | 2;
  /** Minimum activity for a meaningful result. */
  least?: { pushed: number; deleted: number; collected: number };
}

const usual = { pushed: 20, deleted: 8, collected: 20 };

/**
 * Many clients push, pull and delete images that share layers while garbage collection runs without delay. A manifest that was answered 201
 * and not deleted since must be complete, byte by byte; in the end nothing else is left. With two servers each request goes to either of
 * them, and both collect each other's content.
 */
export async function stress(t: TestContext, ms: number, { servers: serverCount = 1, least = usual }: Options = {}) {
  const server = await registryServer(t, { settings: { gcDelaySeconds: 0 } });
  const { connection, dataDir } = server;
  const second = serverCount === 2 ? [await registryServer(t, { settings: { gcDelaySeconds: 0 }, connection, dataDir })] : [];
  const servers = [server, ...second];
  const send: Send = (...request) => servers[randomInt(servers.length)]!.send(...request);
  const layers = Array.from({ length: 6 }, () => someBytes(2_000 + randomInt(100_000)));
  /** Existing images by repository and digest, without those being pushed or deleted. */
  const standing = new Map<string, Image>();
  const busy = new Set<string>();
  const stop = new AbortController();
  const counts = { pushed: 0, deleted: 0, pulled: 0, again: 0, collected: 0 };
  let pushMs = 50;
  const end = performance.now() + ms;
  const isEnough = () => counts.pushed >= least.pushed && counts.deleted >= least.deleted && counts.collected >= least.collected;
  // A slow machine gets more time.
  const isOver = () => performance.now() > end && (performance.now() > end + 60_000 || isEnough());

  const pushOne = async () => {
    const name = repositories[randomInt(repositories.length)]!;
    const image = imageOf(
      layers.filter(() => randomInt(2) === 0),
      { annotations: { variant: String(randomInt(8)) } },
    );
    const key = `${name}@${image.digest}`;
    if (busy.has(key) || standing.has(key)) return;
    busy.add(key);
    try {
      for (let began = performance.now(); ; began = performance.now()) {
        for (const blob of image.blobs) await bring(send, name, blob);
        const put = await putManifest(send, name, image.digest, image);
        pushMs = 0.8 * pushMs + 0.2 * (performance.now() - began);
        if (put.status === 201) break;
        // Without a delay a layer may be collected between its push and its image. Only then it is pushed again.
        assert.equal(codeOf(put), 'MANIFEST_BLOB_UNKNOWN', put.body.toString());
        counts.again++;
        if (performance.now() > end + 90_000) assert.fail('an image could not be pushed at all');
      }
      standing.set(key, image);
      counts.pushed++;
    } finally {
      busy.delete(key);
    }
  };

  const deleteOne = async () => {
    if (standing.size < 6) return;
    const keys = [...standing.keys()].filter((k) => !busy.has(k));
    const key = keys[randomInt(Math.max(1, keys.length))];
    if (!key) return;
    busy.add(key);
    const image = standing.get(key)!;
    standing.delete(key);
    const gone = await send('DELETE', `/v2/${key.replace('@', '/manifests/')}`);
    assert.equal(gone.status, 202, gone.body.toString());
    busy.delete(key);
    counts.deleted++;
    assert.ok(image);
  };

  const verify = async (key: string, image: Image, mayGo: boolean) => {
    const [name] = key.split('@') as [string];
    const manifest = await send('GET', `/v2/${key.replace('@', '/manifests/')}`);
    if (mayGo && standing.get(key) !== image) return;
    assert.ok(manifest.body.equals(image.body), `${key} is not there: ${manifest.status} ${manifest.body.subarray(0, 300)}`);
    for (const blob of image.blobs) {
      const got = await send('GET', `/v2/${name}/blobs/${digestOf(blob)}`);
      if (mayGo && standing.get(key) !== image) return;
      assert.equal(got.status, 200, `${key} lost ${digestOf(blob)}: ${got.body.subarray(0, 300)}`);
      assert.ok(got.body.equals(blob), `${key} has other bytes as ${digestOf(blob)}`);
    }
    counts.pulled++;
  };
  const pullOne = async () => {
    const entries = [...standing];
    const entry = entries[randomInt(Math.max(1, entries.length))];
    if (entry) await verify(entry[0], entry[1], true);
  };

  const client = async (act: () => Promise<void>) => {
    while (!isOver()) {
      await act();
      await sleep(2); // an idle client must not slow down the others
    }
  };
  const collectors = servers.map(async ({ app, engine }) => {
    while (!stop.signal.aborted) {
      counts.collected += await collect(engine, stop.signal, app.log, 50);
      // Continuous collection would let no push finish: on average one finishes between two rounds.
      await sleep(randomInt(Math.ceil(2 * servers.length * pushMs) + 1));
    }
  });
  await Promise.all([
    ...Array.from({ length: 4 }, () => client(pushOne)),
    client(deleteOne),
    client(deleteOne),
    client(pullOne),
    client(pullOne),
  ]).finally(() => stop.abort());
  await Promise.all(collectors);

  for (const [key, image] of standing) await verify(key, image, false);
  await everythingAddsUp(server, standing);
  t.diagnostic(JSON.stringify({ ...counts, standing: standing.size }));
  assert.ok(isEnough(), JSON.stringify(counts));
}

async function bring(send: Send, name: string, blob: Buffer) {
  const digest = digestOf(blob);
  if (randomInt(2) && (await send('HEAD', `/v2/${name}/blobs/${digest}`)).status === 200) return;
  if (randomInt(2)) {
    const from = repositories[randomInt(repositories.length)]!;
    if ((await send('POST', `/v2/${name}/blobs/uploads/?mount=${digest}&from=${from}`)).status === 201) return;
  }
  await pushBlob(send, name, blob);
}

/** At the end: the quota's figures equal the count, and the storage holds exactly the live blobs. */
async function everythingAddsUp({ app, engine }: TestRegistry, standing: Map<string, Image>) {
  // Postponed entries (running push, busy storage) are due now.
  do await app.db.write((tx) => run(tx)`update registry.gc_queue set review_after = kernel.now()`);
  while ((await collect(engine, new AbortController().signal, app.log)) > 0);
  const needed = new Map([...standing.values()].flatMap((image) => image.blobs.map((b) => [digestOf(b), b.length] as const)));
  const manifests = [...standing.values()].map(({ body, type }) => weightOf(parseManifest(body, type), body.length));
  const sum = (sizes: Iterable<number>) => [...sizes].reduce((a, b) => a + b, 0);
  const found = await app.db.read(async (tx) => ({
    blobs: await rows(
      tx,
      Type.Object({ digest: Type.String(), storage_key: Type.String() }),
    )`select digest, storage_key from registry.blob order by digest`,
    figures: await row(tx, Type.Object({ used_bytes: Type.Integer(), reserved_bytes: Type.Integer() }))`
      select used_bytes, reserved_bytes - (select coalesce(sum(reserved), 0) from registry.upload)::bigint as reserved_bytes
        from registry.registry where slug = 'acme'`,
  }));
  assert.deepEqual(
    found.blobs.map((b) => b.digest),
    [...needed.keys()].sort(),
  );
  const stored = (await Array.fromAsync(app.storage.list('sha256/'))).map((o) => o.key).sort();
  assert.deepEqual(stored, found.blobs.map((b) => b.storage_key).sort());
  assert.deepEqual(found.figures, { used_bytes: sum(needed.values()) + sum(manifests), reserved_bytes: 0 });
}
