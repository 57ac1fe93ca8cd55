import assert from 'node:assert/strict';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { makeInnerKeys } from '../../../src/areas/clusters/engine/inner-keys.ts';
import { makeAuthority, newKey } from '../../../src/areas/clusters/engine/issue.ts';
import type { StoreContent } from '../../../src/drivers/driver.ts';
import { type EtcdClient, isCompacted } from '../../../src/drivers/process/clients/etcd.ts';
import { withScratchEtcd } from '../../../src/drivers/process/engine/etcd/scratch.ts';
import { objectKeys } from '../../../src/drivers/process/engine/etcd/snapshot.ts';
import { self } from '../../../src/kernel/programs/identity.ts';
import { scratch } from '../../harness/process.ts';
import { binaries } from './kubernetes-support.ts';

const objects = 3_000;

async function* pairs() {
  for (let n = 0; n < objects; n++) yield { key: Buffer.from(`/registry/configmaps/default/c-${n}`), value: Buffer.alloc(1_500, n % 250) };
}

async function scratches(t: TestContext, quotaBytes = 2 ** 30) {
  const { dir } = await scratch(t);
  const ca = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
  const keys = makeInnerKeys(ca, undefined, { onEtcd: true }).etcd!;
  const programs = { etcd: join(binaries, 'etcd'), etcdutl: join(binaries, 'etcdutl') };
  let count = 0;
  return async <T>(content: StoreContent, work: (client: EtcdClient) => Promise<T>) => {
    const own = join(dir, String(count++));
    await mkdir(own);
    await chmod(own, 0o711);
    return withScratchEtcd(
      { programs, keys, identity: self, quotaBytes, dir: own, cwd: own, env: {}, copies: 0, signal: t.signal },
      content,
      work,
    );
  };
}

test('objects become a snapshot, and a snapshot the same objects at the same revision', { timeout: 120_000 }, async (t) => {
  const inScratch = await scratches(t);
  const made = await inScratch({ kind: 'keys', keys: pairs(), revision: 0 }, async (client) => ({
    ...(await client.range({ ...objectKeys, countOnly: true })),
    content: await buffer(await client.snapshot()),
  }));
  assert.equal(made.count, objects);
  const content = (bytes: Buffer): StoreContent => ({
    kind: 'snapshot',
    content: Readable.from([bytes]),
    bytes: bytes.length,
    revision: 0,
  });
  await inScratch(content(made.content), async (client) => {
    const found = await client.range({ ...objectKeys, revision: made.revision });
    assert.deepEqual([found.count, found.revision], [objects, made.revision]);
    assert.deepEqual(found.pairs[0]!.value, Buffer.alloc(1_500, 0));
  });

  // Damaged, cut off or foreign: nothing is made of it.
  const damaged = Buffer.from(made.content);
  damaged[5_000]! ^= 1;
  for (const bytes of [damaged, made.content.subarray(0, made.content.length / 2), Buffer.from('no snapshot'), Buffer.alloc(0)])
    await assert.rejects(
      inScratch(content(bytes), async () => assert.fail('it was started')),
      /etcdutl snapshot (status|restore) ended with status/,
    );
});

test('an etcd at its quota takes a compaction, and writes once its file is smaller and its alarm is ended', {
  timeout: 120_000,
}, async (t) => {
  const inScratch = await scratches(t, 4 * 2 ** 20);
  const one = (n: number) => [{ key: Buffer.from('/registry/configmaps/default/one'), value: Buffer.alloc(2 ** 20, n) }];
  await inScratch({ kind: 'keys', keys: (async function* () {})(), revision: 0 }, async (client) => {
    await assert.rejects(async () => {
      for (let n = 0; n < 50; n++) await client.put(one(n));
    }, /database space exceeded/);
    const full = await client.status();
    assert.match(full.errors.join(), /NOSPACE/);
    await client.compact(full.revision);
    await assert.rejects(client.compact(full.revision), (error) => isCompacted(error));
    await assert.rejects(client.put(one(1)), /database space exceeded/, 'the alarm goes on');
    await client.defragment();
    const { fileBytes, memberId } = await client.status();
    assert.ok(fileBytes < full.fileBytes / 2, `${fileBytes} of ${full.fileBytes}`);
    await client.endSpaceAlarm(memberId);
    await client.put(one(2));
  });
});
