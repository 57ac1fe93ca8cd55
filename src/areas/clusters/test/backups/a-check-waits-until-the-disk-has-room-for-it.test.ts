import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { backupProblems } from '../../index.ts';
import { runOf, type WithPrograms, withPrograms } from '../process/support.ts';
import { adminOf, readyCluster, untilReady } from '../support.ts';
import { clustersOf, namesIn, putMap, take } from './support.ts';

const MiB = 2 ** 20;

/** The disk of every path with `part` in it has so much room, beside the 2 GiB that are kept free. */
function withRoom(t: TestContext, part: string, bytes: number) {
  const statfs = fs.statfs.bind(fs);
  const mocked = t.mock.method(fs, 'statfs', async (path: string) => {
    const disk = await statfs(path).catch(() => ({ bavail: 0, bsize: 1 }));
    return path.includes(part) ? { ...disk, bavail: 2 ** 31 + bytes, bsize: 1 } : disk;
  });
  return () => mocked.mock.restore();
}

/** A cluster whose newest backup was not checked for want of room, and is once there is some. */
async function checkedOnceThereIsRoom(t: TestContext, qd: WithPrograms, part: string, free: number): Promise<void> {
  const { owner, app, clock } = qd;
  const admin = clustersOf(qd);
  const listed = async () => JSON.parse((await admin('backups', 'list', 'prod', '--json')).out).backups[0];
  const limits = async () =>
    (await owner.get('/clusters/prod/usage')).body.limitations.filter((each: string) => each.startsWith('backups'));
  const giveRoom = withRoom(t, part, free);
  const id = await take(admin);
  await eventually(async () => (await listed()).postponed !== null, { withinMs: 60_000 });
  const { backup, checkedAt, problem, postponed } = await listed();
  assert.deepEqual([backup, checkedAt, problem], [id, null, null], 'it is neither good nor bad');
  assert.match(postponed, /^the disk of the server has too little free space: \d+ MiB are needed beside the 2048 MiB that stay free/);
  assert.match((await admin('backups', 'list', 'prod')).out, /not yet: the disk of the server/);
  assert.match((await limits()).join(), /^backups: the newest one is not checked yet, and it is tried again: the disk of the server/);
  assert.deepEqual(
    (await app.db.read(backupProblems)).map(({ problem: told }) => told.split(':')[0]),
    [`the backup ${id} is not checked yet`],
  );
  const metrics = await (await fetch(`${qd.url}/metrics`, { headers: { authorization: 'Bearer scrape' } })).text();
  assert.match(metrics, /^quarterdeck_clusters_backups_unchecked 1$/m);
  assert.match(metrics, /^quarterdeck_clusters_backups_unrestorable 0$/m);
  assert.deepEqual(
    (await fs.readdir(await runOf(qd.dataDir))).filter((name) => name.endsWith('-check')),
    [],
    'nothing of it stays',
  );

  giveRoom();
  await clock.advance('16m');
  await eventually(async () => (await listed()).checkedAt !== null, { withinMs: 60_000 });
  assert.deepEqual([(await listed()).problem, (await listed()).postponed], [null, null]);
  assert.deepEqual(await limits(), []);
}

const env = { QUARTERDECK_METRICS_TOKEN: 'scrape' };
const dedicated = { mode: 'dedicated', storageGiB: 1 };

test('a check waits until the disk has room for its etcd, says why, and is made then', async (t) => {
  const qd = await withPrograms(t, { withEtcd: true, env });
  await readyCluster(qd.owner, { name: 'prod', datastore: dedicated });
  await checkedOnceThereIsRoom(t, qd, '-check', 100 * MiB); // less than the two logs of etcd
});

test('a check of a backup of unknown size stops before the disk is low', async (t) => {
  const qd = await withPrograms(t, { withEtcd: true, env });
  await readyCluster(qd.owner, { name: 'prod', datastore: dedicated });
  await qd.app.db.write(
    (tx) => run(tx)`
      create function clusters.forget_size() returns trigger language plpgsql as $$ begin new.content_bytes := null; return new; end $$`,
  );
  await qd.app.db.write(
    (tx) => run(tx)`create trigger forget before update on clusters.backup for each row execute function clusters.forget_size()`,
  );
  await checkedOnceThereIsRoom(t, qd, '-check', MiB);
});

test('a check on the shared datastore waits until the database has room', async (t) => {
  const qd = await withPrograms(t, { env });
  await readyCluster(qd.owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  await checkedOnceThereIsRoom(t, qd, '/postgres', 0);
});

test('a backup and a restore that the disk has no room for are refused, and the cluster goes on', async (t) => {
  const qd = await withPrograms(t, { withEtcd: true });
  const { owner } = qd;
  const admin = clustersOf(qd);
  await readyCluster(owner, { name: 'prod', datastore: dedicated });
  const way = await adminOf(owner, 'prod');
  await putMap(way, 'kept');
  let giveRoom = withRoom(t, 'cluster-backups', MiB);
  const full = await admin('backups', 'take', 'prod');
  assert.deepEqual([full.code, /the disk of the server has too little free space/.test(full.err)], [11, true], full.err);
  giveRoom();
  const id = await take(admin);
  await putMap(way, 'later');
  giveRoom = withRoom(t, 'stores', 100 * MiB);
  const refused = await admin('restore', 'prod', '--at', id, '--yes');
  assert.deepEqual([refused.code, /too little free space.*; the cluster goes on/.test(refused.err)], [11, true], refused.err);
  giveRoom();
  await untilReady(owner, 'prod');
  assert.deepEqual(await namesIn(way), ['kept', 'later']);
});
