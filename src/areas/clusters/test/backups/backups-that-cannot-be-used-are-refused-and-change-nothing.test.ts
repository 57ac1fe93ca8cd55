import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import type { App } from '../../../../kernel/app.ts';
import { run } from '../../../../kernel/db/index.ts';
import { StorageFull } from '../../../../kernel/storage/index.ts';
import { recordsBelow, runOf, schemasOf, withPrograms } from '../process/support.ts';
import { adminOf, readyCluster, untilReady } from '../support.ts';
import { clustersOf, namesIn, putMap, take } from './support.ts';

/** Without those of checks, which are made and removed beside this. */
const storesOf = async (app: App) => (await schemasOf(app)).filter((name) => !name.endsWith('_check')).sort();

async function bytesOf({ storage }: App, key: string): Promise<Buffer> {
  const { stream } = (await storage.open(key))!;
  return Buffer.concat(await stream.toArray());
}

/** Without those of checks, which come and go by themselves. */
async function apiserversOf(dataDir: string): Promise<number[]> {
  const dir = await runOf(dataDir);
  const clusters = (await readdir(dir)).filter((name) => !name.endsWith('-check')).sort();
  const records = await Promise.all(clusters.map((name) => recordsBelow(join(dir, name))));
  return records.flat().flatMap(({ kind, pid }) => (kind === 'kube-apiserver' ? [pid] : []));
}

test('a backup that is cut off, changed, gone or of another cluster is refused, and nothing of it stays', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app } = qd;
  const admin = clustersOf(qd);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  await readyCluster(owner, { name: 'other', orchestratorVersion: 'v1.36.4' });
  const way = await adminOf(owner, 'prod');
  await putMap(way, 'kept');
  const [good, foreign] = [await take(admin), await take(admin, 'other')];
  await putMap(way, 'later');
  const keys: string[] = [];
  for await (const { key } of app.storage.list('cluster-backups/')) keys.push(key);
  const keyOf = (id: string) => keys.find((key) => key.endsWith(`/${id}`))!;
  const whole = await bytesOf(app, keyOf(good));
  const schemas = await storesOf(app);
  const programs = await apiserversOf(qd.dataDir);

  for (const [id, why] of [
    [foreign, /is of another cluster/],
    ['bak_none', /there is no backup bak_none/],
  ] as const) {
    const refused = await admin('restore', 'prod', '--at', id, '--yes');
    assert.deepEqual([refused.code, why.test(refused.err)], [11, true], refused.err);
  }
  assert.match((await admin('restore', 'nowhere', '--yes')).err, /unknown cluster nowhere/);

  const flipped = Buffer.from(whole);
  flipped[100]! ^= 1;
  for (const [what, bytes] of [
    ['cut off', whole.subarray(0, whole.length - 20)],
    ['empty', Buffer.alloc(0)],
    ['changed', flipped],
    ['the object of another cluster', await bytesOf(app, keyOf(foreign))],
    ['gone', undefined],
  ] as const) {
    if (bytes) await app.storage.put(keyOf(good), bytes);
    else await app.storage.remove(keyOf(good));
    const refused = await admin('restore', 'prod', '--at', good, '--yes');
    assert.equal(refused.code, 11, what);
    assert.match(refused.err, /cannot be used|is not in the storage any more/, what);
    assert.match(refused.err, /the cluster goes on with its objects from before/, what);
    await untilReady(owner, 'prod');
    assert.deepEqual(await namesIn(way), ['kept', 'later'], what);
    assert.deepEqual(await storesOf(app), schemas, what);
  }
  assert.deepEqual(await apiserversOf(qd.dataDir), programs, 'no program was touched');

  await app.storage.put(keyOf(good), whole);
  const restored = await admin('restore', 'prod', '--at', good, '--yes');
  assert.equal(restored.code, 0, restored.err);
  assert.deepEqual(await namesIn(way), ['kept']);
});

test('a restore keeps other changes out, and waits for none', async (t) => {
  const qd = await withPrograms(t);
  const { owner } = qd;
  const admin = clustersOf(qd);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const way = await adminOf(owner, 'prod');
  await putMap(way, 'kept');
  const id = await take(admin);
  await putMap(way, 'later');
  const isUpdating = async () => (await owner.get('/clusters/prod')).body.phase === 'updating';

  // Two at once: one of them begins, and the cluster serves what it has until the new apiserver is ready.
  await misbehave(qd.binaries, { 'kube-apiserver': { heldStart: true } });
  const restoring = admin('restore', 'prod', '--at', id, '--yes');
  await eventually(isUpdating);
  const second = await admin('restore', 'prod', '--at', id, '--yes');
  assert.equal(second.code, 11);
  assert.match(second.err, /concurrent change: cluster prod is updating \(restore of the backup bak_\w+ of .*, since /);
  assert.match((await admin('backups', 'take', 'prod')).err, /is updating; a backup is made once it is ready/);
  assert.equal((await owner.patch('/clusters/prod', { tier: 'medium' })).status, 409);
  await eventually(async () => (await apiserversOf(qd.dataDir)).length === 2);
  assert.deepEqual(await namesIn(way), ['kept', 'later']);
  await misbehave(qd.binaries, {});
  const restored = await restoring;
  assert.equal(restored.code, 0, restored.err);
  assert.deepEqual(await namesIn(way), ['kept']);
  await untilReady(owner, 'prod');

  // While another change is under way there is no restore.
  await misbehave(qd.binaries, { 'kube-apiserver': { heldStart: true } });
  assert.equal((await owner.patch('/clusters/prod', { tier: 'medium' })).status, 200);
  const refused = await admin('restore', 'prod', '--at', id, '--yes');
  assert.deepEqual([refused.code, /resize small → medium/.test(refused.err)], [11, true], refused.err);
  await misbehave(qd.binaries, {});
  await untilReady(owner, 'prod');

  // An apiserver that never becomes ready on the restored objects: the store before serves on.
  await putMap(way, 'newest');
  await misbehave(qd.binaries, { 'kube-apiserver': { crashAtStart: true } });
  const failed = await admin('restore', 'prod', '--at', id, '--yes');
  assert.equal(failed.code, 11);
  assert.match(failed.err, /kube-apiserver ended while it started.*the cluster goes on with its objects from before/);
  await misbehave(qd.binaries, {});
  await untilReady(owner, 'prod');
  assert.deepEqual(await namesIn(way), ['kept', 'newest']);
  await putMap(way, 'more');
});

test('a disk that is full fails a backup or a restore with a sentence, and leaves nothing of it', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app } = qd;
  const admin = clustersOf(qd);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const way = await adminOf(owner, 'prod');
  await putMap(way, 'kept');
  const put = t.mock.method(app.storage, 'put', async () => {
    throw new StorageFull(undefined);
  });
  const full = await admin('backups', 'take', 'prod');
  assert.deepEqual([full.code, /the storage is full/.test(full.err)], [11, true], full.err);
  put.mock.restore();
  const id = await take(admin);
  assert.deepEqual(
    JSON.parse((await admin('backups', 'list', 'prod', '--json')).out).backups.map(({ backup }: { backup: string }) => backup),
    [id],
  );

  // PostgreSQL has no room for the new table.
  await putMap(way, 'later');
  const schemas = await storesOf(app);
  await app.db.write(async (tx) => {
    await run(tx)`create function public.no_room() returns event_trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`;
    await run(tx)`create event trigger no_room on ddl_command_end when tag in ('CREATE TABLE') execute function public.no_room()`;
  });
  const failed = await admin('restore', 'prod', '--at', id, '--yes');
  assert.deepEqual([failed.code, /the disk of the database is full; the cluster goes on/.test(failed.err)], [11, true], failed.err);
  await app.db.write((tx) => run(tx)`drop event trigger no_room`);
  await untilReady(owner, 'prod');
  assert.deepEqual(await namesIn(way), ['kept', 'later']);
  assert.deepEqual(await storesOf(app), schemas);
  assert.equal((await admin('restore', 'prod', '--at', id, '--yes')).code, 0);
  assert.deepEqual(await namesIn(way), ['kept']);
});
