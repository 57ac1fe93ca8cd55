import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import Type from 'typebox';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { atText, KillableServers } from '../../../../../test/harness/kill/index.ts';
import { eventually, scratch } from '../../../../../test/harness/process.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { askForBackup, askForRestore, listClusterBackups } from '../../index.ts';
import { removeOldBackups } from '../../tasks.ts';
import { fakeBinaries, schemasOf } from '../process/support.ts';
import { adminOf, readyCluster, untilReady } from '../support.ts';
import { answers, namesIn, putMap } from './support.ts';

/** An API and a worker that live, and a shard server that kills itself where a test says so; the next one goes on from there. */
export async function withMortalShard(t: TestContext, datastore: { mode: string } = { mode: 'shared' }) {
  const binaries = await fakeBinaries(t);
  const env = { QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${await freePort()}`, QUARTERDECK_CLUSTER_BINARIES: binaries };
  const qd = await quarterdeck(t, { env: { ...env, QUARTERDECK_ROLES: 'api,worker' } });
  const { dir } = await scratch(t);
  const shared = { ...env, QUARTERDECK_PUBLIC_URL: qd.url, QUARTERDECK_ROLES: 'shard' };
  const servers = new KillableServers(t, { dir, dataDir: qd.dataDir, connection: qd.connection, env: () => shared });
  const restart = async (point?: string) => {
    await servers.kill();
    servers.start(0, point === undefined ? undefined : atText(point));
    await qd.clock.advance('30s'); // the lease of the one before is over
    await eventually(async () => (await qd.owner.get('/clusters/prod')).body.phase === 'ready', { withinMs: 60_000 });
  };
  servers.start();
  await eventually(async () => JSON.stringify((await qd.owner.get('/cluster-versions')).body).includes('v1.36.4'), { withinMs: 30_000 });
  await readyCluster(qd.owner, { name: 'prod', orchestratorVersion: 'v1.36.4', datastore });
  const way = await adminOf(qd.owner, 'prod');
  return { ...qd, servers, way, restart, binaries };
}

export const StateRow = Type.Object({ state: Type.String() });

/** Where a backup may be cut off. */
export const backupPoints: readonly string[] = [
  'before:insert into clusters.backup (',
  'committed:insert into clusters.backup (',
  "before:update clusters.backup b set state = 'complete'",
  "committed:update clusters.backup b set state = 'complete'",
];

/** Where a restore may be cut off, and whether the cluster has the objects of the backup afterwards. */
type RestorePoint = readonly [point: string, isRestored: boolean];
export const restorePoints: readonly RestorePoint[] = [
  ["before:update clusters.store_change s set state = 'loading'", true], // no server had begun: the next one does it
  ["committed:update clusters.store_change s set state = 'loading'", false],
  ["before:'compact_rev_key', 1, 0, 0", false],
  ["before:update clusters.store_change set state = 'switched'", false],
  ["committed:update clusters.store_change set state = 'switched'", true],
  ["before:update clusters.store_change s set state = 'done'", true],
];

export async function dieInBackup(t: TestContext, points: readonly string[]): Promise<void> {
  const { app, way, servers, restart, perform } = await withMortalShard(t);
  await putMap(way, 'kept');
  const complete = async () => (await app.db.read((tx) => listClusterBackups(tx, 'prod'))).backups.map(({ id }) => id);
  const stored = async () => {
    const keys: string[] = [];
    for await (const { key } of app.storage.list('cluster-backups/')) keys.push(key.slice(key.lastIndexOf('/') + 1));
    return keys.sort();
  };
  for (const point of points) {
    await restart(point);
    const before = await complete();
    await app.db.write((tx) => askForBackup(tx, 'prod'));
    assert.ok(await servers.diesWithin(60_000), `it never came to ${point}`);
    await restart();
    // What was asked for is made by the next server, unless it was complete already.
    await eventually(async () => (await complete()).length > before.length, { withinMs: 60_000 });
    await perform(removeOldBackups);
    const states = await app.db.read((tx) => rows(tx, StateRow)`select state from clusters.backup where state <> 'complete'`);
    assert.deepEqual(states, [], point);
    assert.deepEqual(await stored(), (await complete()).sort(), `${point}: every object has its row`);
  }
}

export async function dieInRestore(t: TestContext, points: readonly RestorePoint[]): Promise<void> {
  const { app, owner, way, servers, restart, clock } = await withMortalShard(t);
  await putMap(way, 'kept');
  await app.db.write((tx) => askForBackup(tx, 'prod'));
  const backup = await eventually(async () => (await app.db.read((tx) => listClusterBackups(tx, 'prod'))).backups[0]);
  const ask = () => app.db.write((tx) => askForRestore(tx, 'prod', backup.id));
  const states = () => app.db.read((tx) => rows(tx, StateRow)`select state from clusters.store_change order by generation`);
  let n = 0;
  for (const [point, isRestored] of points) {
    await answers(way);
    await putMap(way, `later-${++n}`);
    await restart(point);
    await answers(way);
    const before = await namesIn(way);
    await ask();
    assert.ok(await servers.diesWithin(60_000), `it never came to ${point}`);
    await restart();
    await answers(way);
    const now = await namesIn(way);
    assert.deepEqual(now, isRestored ? ['kept'] : before, point);
    assert.equal((await states()).at(-1)!.state, isRestored ? 'done' : 'failed', point);
    await putMap(way, `still-${n}`);
  }
  // Nothing keeps the next one from being made, and one store is left.
  const { generation } = await ask();
  await eventually(async () => (await states()).at(-1)!.state === 'done', { withinMs: 60_000 });
  await untilReady(owner, 'prod');
  await answers(way);
  assert.deepEqual(await namesIn(way), ['kept']);
  await clock.advance('3m');
  await untilReady(owner, 'prod');
  const left = (await schemasOf(app)).filter((name) => !name.endsWith('_check'));
  assert.ok(
    left.some((name) => name.endsWith(`_g${generation}`)),
    left.join(),
  );
}
