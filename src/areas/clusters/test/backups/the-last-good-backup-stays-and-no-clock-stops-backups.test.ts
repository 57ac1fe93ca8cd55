import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { eventually } from '../../../../../test/harness/process.ts';
import { rows, run } from '../../../../kernel/db/index.ts';
import { maxCopyBytes } from '../../engine/backups/content.ts';
import { backupsDue } from '../../engine/channels.ts';
import { withPrograms } from '../process/support.ts';
import { readyCluster } from '../support.ts';
import { clustersOf, take } from './support.ts';

const StateRow = Type.Object({ id: Type.String(), is_checked: Type.Boolean(), failure: Type.Union([Type.String(), Type.Null()]) });

test('the last backup that was restored and counted stays, and backups go on after a clock that was ahead', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app, clock } = qd;
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const admin = clustersOf(qd);
  const found = () =>
    app.db.read(
      (tx) => rows(tx, StateRow)`
        select id, checked_at is not null as is_checked, check_failure as failure from clusters.backup where state = 'complete' order by begun_at`,
    );
  let wakes = 0;
  t.after(app.waker.subscribe(backupsDue, () => wakes++));
  const good = await take(admin);
  assert.ok(wakes > 0, 'the server hears of it at once');
  await eventually(async () => (await found())[0]!.is_checked, { withinMs: 60_000 });
  assert.equal((await found())[0]!.failure, null);
  // Those after it cannot be restored.
  const bad: string[] = [];
  while (bad.length < 8) {
    const next = await take(admin);
    bad.push(next);
    await app.db.write(
      (tx) => run(tx)`update clusters.backup set checked_at = kernel.now(), check_failure = 'lost its end' where id = ${next}`,
    );
  }
  assert.deepEqual(
    (await found()).map(({ id }) => id),
    [good, ...bad.slice(-7)],
  );
  await app.db.write((tx) => run(tx)`update clusters.backup set check_failure = null where id = ${bad.at(-1)!}`);
  const after = await take(admin);
  assert.ok(!(await found()).some(({ id }) => id === good), 'a later one is good');

  // The clock was a year ahead when these were made.
  await app.db.write(
    (tx) => run(tx)`
    update clusters.backup set at = at + interval '1 year', begun_at = begun_at + interval '1 year', checked_at = checked_at + interval '1 year'`,
  );
  await app.db.write((tx) => run(tx)`update clusters.backup_work set failed_at = kernel.now() + interval '1 year'`);
  await clock.advance('61m');
  const isNew = ({ id }: { id: string }) => id !== after && !bad.includes(id);
  await eventually(async () => (await found()).some(isNew), { withinMs: 60_000 });
  assert.equal(JSON.parse((await admin('backups', 'list', 'prod', '--json')).out).backups[0].backup, (await found()).find(isNew)!.id);
  const { lastBackupAt } = (await owner.get('/clusters/prod/usage')).body.datastore;
  assert.ok(Date.parse(lastBackupAt) < Date.now() + 180 * 86_400_000, lastBackupAt);
  await clock.advance('30m');
  await eventually(async () => (await found()).find(isNew)!.is_checked, { withinMs: 60_000 });
  assert.equal((await found()).filter(isNew).length, 1, 'the next one is due in six hours');
});

test('a copy of an etcd may be as large as its quota, one of kine as its tier allows', () => {
  const dedicated = { tier: 'small', datastore: { storageGiB: 40 } };
  assert.ok(maxCopyBytes('etcd', dedicated) > 40 * 2 ** 30);
  assert.equal(maxCopyBytes('kine', dedicated), 2 ** 30);
});
