import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { StorageUnavailable } from '../../../../kernel/storage/index.ts';
import { withPrograms } from '../process/support.ts';
import { readyCluster } from '../support.ts';
import { clustersOf, take } from './support.ts';

test('a check waits until the storage and the database answer, and calls no backup bad meanwhile', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app, clock } = qd;
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const admin = clustersOf(qd);
  const listed = async () => JSON.parse((await admin('backups', 'list', 'prod', '--json')).out).backups[0];
  const limits = async () =>
    (await owner.get('/clusters/prod/usage')).body.limitations.filter((each: string) => each.startsWith('backups'));

  const away = t.mock.method(app.storage, 'open', async () => {
    throw new StorageUnavailable(new Error('away'));
  });
  await take(admin);
  await eventually(async () => (await listed()).postponed !== null, { withinMs: 60_000 });
  const { checkedAt, problem, postponed } = await listed();
  assert.deepEqual([checkedAt, problem, postponed], [null, null, 'the storage does not answer']);
  assert.deepEqual(await limits(), ['backups: the newest one is not checked yet, and it is tried again: the storage does not answer']);

  // The connection of the copy is cut.
  away.mock.restore();
  const open = app.storage.open.bind(app.storage);
  const cut = t.mock.method(app.storage, 'open', async (...args: Parameters<typeof open>) => {
    await app.db.write(
      (tx) => run(tx)`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'quarterdeck cluster backup'`,
    );
    return open(...args);
  });
  await clock.advance('16m');
  await eventually(async () => (await listed()).postponed === 'the database does not answer', { withinMs: 60_000 });
  assert.deepEqual([(await listed()).checkedAt, (await listed()).problem], [null, null]);

  cut.mock.restore();
  await clock.advance('16m');
  await eventually(async () => (await listed()).checkedAt !== null, { withinMs: 60_000 });
  assert.deepEqual([(await listed()).problem, (await listed()).postponed], [null, null]);
  assert.deepEqual(await limits(), []);
});
