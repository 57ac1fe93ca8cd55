import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { askForBackup } from '../../index.ts';
import { withPrograms } from '../process/support.ts';
import { readyCluster } from '../support.ts';
import { clustersOf, take } from './support.ts';

const NameRow = Type.Object({ name: Type.String() });

test('a backup waits for no check, and organizations take turns however much one of them has to be done', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app, binaries } = qd;
  const admin = clustersOf(qd);
  const other = await qd.organization('other');
  for (const name of ['a1', 'a2', 'a3']) await readyCluster(owner, { name, orchestratorVersion: 'v1.36.4' });
  await readyCluster(other, { name: 'b1', orchestratorVersion: 'v1.36.4' });

  // The check of a1 takes long: its kine does not listen.
  await misbehave(binaries, { kine: { heldStart: true } });
  await take(admin, 'a1');
  const named = (column: 'at' | 'checked_at' | 'check_until') =>
    app.db.read(
      (tx) => rows(tx, NameRow)`
        select c.name from clusters.backup b join clusters.cluster c on c.id = b.cluster_id
         where b.state = 'complete' and case ${column} when 'at' then b.at when 'checked_at' then b.checked_at else b.check_until end is not null
         order by case ${column} when 'at' then b.at else b.checked_at end, b.id`,
    );
  await eventually(async () => (await named('check_until')).length === 1);

  // A backup takes long too: its object is not written before `release`.
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const put = app.storage.put.bind(app.storage);
  t.mock.method(app.storage, 'put', async (...args: Parameters<typeof put>) => {
    await released;
    return put(...args);
  });
  await app.db.write((tx) => askForBackup(tx, 'a2'));
  await eventually(
    async () => (await app.db.read((tx) => rows(tx, NameRow)`select id as name from clusters.backup where state = 'making'`)).length === 1,
  );
  for (const name of ['a3', 'a1', 'b1']) await app.db.write((tx) => askForBackup(tx, name));
  release();
  await eventually(async () => (await named('at')).length === 5, { withinMs: 60_000 });
  assert.deepEqual(
    (await named('at')).map(({ name }) => name),
    ['a1', 'a2', 'b1', 'a3', 'a1'],
  );
  assert.deepEqual(await named('checked_at'), [], 'all that beside a check');

  await misbehave(binaries, {});
  await eventually(async () => (await named('checked_at')).length === 4, { withinMs: 120_000 });
  assert.deepEqual(
    (await named('checked_at')).map(({ name }) => name),
    ['a1', 'b1', 'a2', 'a3'],
  );
});
