import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { rows, run } from '../../../../kernel/db/index.ts';
import { askForBackup, listClusterBackups } from '../../index.ts';
import { removeOldBackups } from '../../tasks.ts';
import { withPrograms } from '../process/support.ts';
import { readyCluster } from '../support.ts';
import { StateRow, withMortalShard } from './killed.ts';

test('a copy that takes hours is finished, and one that no process makes is given up', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app, clock } = qd;
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4', datastore: { mode: 'shared', backups: false } });
  const states = async () =>
    (await app.db.read((tx) => rows(tx, StateRow)`select state from clusters.backup order by id`)).map(({ state }) => state);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const put = app.storage.put.bind(app.storage);
  let puts = 0;
  t.mock.method(app.storage, 'put', async (...args: Parameters<typeof put>) => {
    puts++;
    await released;
    return put(...args);
  });
  await app.db.write((tx) => askForBackup(tx, 'prod'));
  await eventually(async () => puts === 1);
  await clock.advance('3h');
  await qd.perform(removeOldBackups);
  assert.deepEqual(await states(), ['making']);
  release();
  await eventually(async () => (await states()).join() === 'complete', { withinMs: 60_000 });
  assert.equal(puts, 1, 'it was made once');

  // A process before this one had the same lease, and was killed while it copied.
  await app.db.write((tx) => run(tx)`update clusters.backup set state = 'making'`);
  await clock.advance('1m');
  await eventually(async () => (await states()).join() !== 'making', { withinMs: 60_000 });
  await qd.perform(removeOldBackups);
  assert.deepEqual(await states(), []);
});

test('a copy is given up when its server is gone, also where no other one takes the cluster', async (t) => {
  const { app, servers, restart, perform, clock } = await withMortalShard(t);
  const states = () => app.db.read((tx) => rows(tx, StateRow)`select state from clusters.backup`);
  await restart('committed:insert into clusters.backup (');
  await app.db.write((tx) => askForBackup(tx, 'prod'));
  assert.ok(await servers.diesWithin(60_000), 'it never began');
  assert.deepEqual(await states(), [{ state: 'making' }]);
  await clock.advance('25h');
  await perform(removeOldBackups);
  assert.deepEqual(await states(), []);
  await restart();
  await eventually(async () => (await app.db.read((tx) => listClusterBackups(tx, 'prod'))).backups.length === 1, { withinMs: 60_000 });
});
