import assert from 'node:assert/strict';
import { createHash, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { type Image as Cached, upstreamRegistry } from '../../../../test/fakes/upstream-registry.ts';
import { KillableServers } from '../../../../test/harness/kill/index.ts';
import { freshDatabase } from '../../../../test/harness/postgres.ts';
import { type Connection, rows } from '../../../kernel/db/index.ts';
import { moveClock } from '../../../kernel/time.ts';
import { collect } from '../engine/gc/collect.ts';
import { expireUploads } from '../engine/gc/expire-uploads.ts';
import { scrub } from '../engine/gc/scrub.ts';
import { makeRegistryMetrics } from '../engine/metrics.ts';
import { makePullThrough, makeUpstreams } from '../engine/pull-through/index.ts';
import { correctDrift } from '../engine/quota.ts';
import type { CrashPoint } from './crash-points.ts';
import { digestOf, type Image, imageOf, pushBlob, putManifest, registryServer, type Send, sender, someBytes } from './registry-server.ts';

const repositories = ['acme/one', 'acme/two'];

/**
 * Servers on one store are killed one after another at the given points, while clients push, delete and pull through the cache and garbage
 * collection runs without delay. In the end all acknowledged content is there byte by byte, and nothing else.
 */
export async function killAt(t: TestContext, points: readonly CrashPoint[]) {
  const { connection, drop } = await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'qdr-'));
  const upstream = await upstreamRegistry(t);
  const env = { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'upstream=127.0.0.0/8', QUARTERDECK_REGISTRY_UPSTREAMS: `up.test=${upstream.url}` };
  const layers = Array.from({ length: 5 }, () => someBytes(2_000 + randomInt(60_000)));
  const world: World = { layers, standing: new Map(), doubtful: new Map(), cached: [], busy: new Set() };
  const newCached = () => {
    const fresh = [someBytes(20_000 + randomInt(200_000)), someBytes(1_000)];
    world.cached.push({ ...upstream.image('team/app', `v${world.cached.length}`, fresh), bytes: fresh });
  };

  // Content that must survive, and content to delete from the beginning.
  const before = await registryServer(t, { connection, dataDir });
  for (let i = 0; i < 8; i++) await pushOne(before.send, world);
  await before.stop();

  let died = 0;
  const servers = standAlone(t, dataDir, connection, env);
  for (const point of points) {
    const ask = sender(await servers.start(0, { env: { QUARTERDECK_TEST_CRASH: JSON.stringify(point) } }).ready);
    const send: Send = async (...request) => {
      const answer = await ask(...request);
      if (answer.status === 503) throw new Error('it is busy');
      return answer;
    };
    let alive = true;
    // A killed or busy server does not answer; any other failure is a finding.
    const client = async (act: () => Promise<void>) => {
      while (alive)
        await act().catch((error) => {
          if (error instanceof assert.AssertionError) throw error;
          return sleep(20);
        });
    };
    const clients = Promise.all([
      client(() => pushOne(send, world)),
      client(() => pushOne(send, world)),
      client(() => deleteOne(send, world)),
      client(() => pushTwins(send)),
      client(async () => {
        newCached();
        await pullOne(send, world.cached.at(-1)!);
      }),
    ]).finally(() => servers.kill());
    clients.catch(() => {});
    if (await servers.diesWithin(30_000)) died++;
    alive = false;
    await clients;
    world.busy.clear();
  }
  t.diagnostic(
    JSON.stringify({
      points: points.length,
      died,
      standing: world.standing.size,
      doubtful: world.doubtful.size,
      cached: world.cached.length,
    }),
  );
  assert.ok(died >= 0.8 * points.length, `only ${died} of ${points.length} servers came to the point where they should die`);
  assert.ok(world.standing.size > 0 && world.cached.length > 0);

  const { send, app, engine, stop } = await registryServer(t, {
    connection,
    dataDir,
    env,
    cache: (engine) => makePullThrough(makeUpstreams(engine, makeRegistryMetrics())),
    settings: { gcDelaySeconds: 0 },
  });
  const verify = async () => {
    for (const [key, image] of world.standing) await whole(send, key, image);
    // Unanswered: the content exists completely or not at all.
    for (const [key, image] of world.doubtful)
      if ((await send('GET', `/v2/${key.replace('@', '/manifests/')}`)).status === 200) await whole(send, key, image);
  };
  await verify();
  for (const image of world.cached.slice(-10)) await pullOne(send, image);

  const { signal } = new AbortController();
  await app.db.write((tx) => moveClock(tx, 3 * 86_400));
  await expireUploads(app, signal);
  await collect(engine, signal, app.log);
  await scrub(engine, signal, app.log);
  await collect(engine, signal, app.log);
  await verify();
  const Stored = Type.Object({ digest: Type.String(), storage_key: Type.String(), state: Type.String() });
  const blobs = await app.db.read((tx) => rows(tx, Stored)`select digest, storage_key, state from registry.blob`);
  assert.deepEqual(
    (await Array.fromAsync(app.storage.list('sha256/'))).map((o) => o.key).sort(),
    blobs.map((b) => b.storage_key).sort(),
    'what is stored is what the tables say',
  );
  for (const { digest, storage_key, state } of blobs) {
    assert.equal(state, 'live', `${storage_key} was never finished with`);
    const hash = createHash('sha256');
    for await (const chunk of (await app.storage.open(storage_key))!.stream) hash.update(chunk);
    assert.equal(`sha256:${hash.digest('hex')}`, digest);
  }
  assert.equal(await app.db.write((tx) => correctDrift(tx, 'reg_acme')), false, 'the figures of the quota are right');
  await stop();
  await drop();
  await rm(dataDir, { recursive: true, force: true });
}

interface World {
  layers: Buffer[];
  /** Acknowledged and not deleted since, by `<repository>@<digest>`. */
  standing: Map<string, Image>;
  /** Content with an unanswered push or delete. */
  doubtful: Map<string, Image>;
  busy: Set<string>;
  cached: (Cached & { bytes: Buffer[] })[];
}

async function pushOne(send: Send, { layers, standing, doubtful, busy }: World) {
  const name = repositories[randomInt(repositories.length)]!;
  const chosen = layers.filter(() => randomInt(2) === 0);
  const image = imageOf(randomInt(3) ? chosen : [...chosen, someBytes(5_000)], { annotations: { variant: String(randomInt(6)) } });
  const key = `${name}@${image.digest}`;
  if (busy.has(key) || standing.has(key)) return void (await sleep(5));
  busy.add(key);
  doubtful.set(key, image);
  for (;;) {
    for (const blob of image.blobs) {
      const known = randomInt(2) && (await send('HEAD', `/v2/${name}/blobs/${digestOf(blob)}`)).status === 200;
      if (!known) await pushBlob(send, name, blob);
    }
    const put = await putManifest(send, name, image.digest, image);
    if (put.status === 201) break;
    // Without a delay a layer may be collected before its image arrives.
    assert.equal(put.status, 404, put.body.toString());
  }
  doubtful.delete(key);
  standing.set(key, image);
  busy.delete(key);
}

/** Two concurrent uploads of the same content: one stores it, and the other's copy is removed. */
async function pushTwins(send: Send) {
  const bytes = someBytes(4_000);
  await Promise.all(repositories.map((name) => pushBlob(send, name, bytes)));
}

async function deleteOne(send: Send, { standing, doubtful, busy }: World) {
  const key = [...standing.keys()].filter((k) => !busy.has(k))[randomInt(Math.max(1, standing.size))];
  if (standing.size < 5 || !key) return void (await sleep(5));
  const image = standing.get(key)!;
  busy.add(key);
  standing.delete(key);
  doubtful.set(key, image);
  const gone = await send('DELETE', `/v2/${key.replace('@', '/manifests/')}`);
  assert.equal(gone.status, 202, gone.body.toString());
  doubtful.delete(key);
  busy.delete(key);
}

async function pullOne(send: Send, image: Cached & { bytes: Buffer[] }) {
  const at = '/v2/acme/up.test/team/app';
  const manifest = await send('GET', `${at}/manifests/${image.digest}`);
  assert.ok(manifest.body.equals(image.manifest), manifest.body.toString());
  for (const bytes of image.bytes) {
    const got = await send('GET', `${at}/blobs/${digestOf(bytes)}`);
    assert.ok(got.body.equals(bytes), `${got.status} for a cached layer`);
  }
}

async function whole(send: Send, key: string, image: Image) {
  const manifest = await send('GET', `/v2/${key.replace('@', '/manifests/')}`);
  assert.ok(manifest.body.equals(image.body), `${key} is not there: ${manifest.status}`);
  for (const blob of image.blobs) {
    const got = await send('GET', `/v2/${key.split('@')[0]}/blobs/${digestOf(blob)}`);
    assert.ok(got.status === 200 && got.body.equals(blob), `${key} lost ${digestOf(blob)}: ${got.status}`);
  }
}

/** Servers of the data plane alone: see stand-alone.ts. */
export const standAlone = (t: TestContext, dataDir: string, connection: Connection, env: Record<string, string> = {}) =>
  new KillableServers(t, {
    dir: dataDir,
    dataDir,
    program: join(import.meta.dirname, 'stand-alone.ts'),
    env: () => ({ ...env, QUARTERDECK_TEST_CONNECTION: JSON.stringify(connection) }),
  });
