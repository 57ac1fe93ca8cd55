import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { now } from '../../../../kernel/time.ts';
import { askForBackup } from '../../index.ts';
import { withPrograms } from '../process/support.ts';
import { adminOf, readyCluster, untilReady } from '../support.ts';
import { clustersOf, namesIn, putMap, take } from './support.ts';

test('a backup that was under way while its cluster was restored is of the time before', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app } = qd;
  const admin = clustersOf(qd);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const way = await adminOf(owner, 'prod');
  await putMap(way, 'kept');
  const good = await take(admin);
  await putMap(way, 'unwanted');

  // A storage that is slow until the cluster is restored.
  const { promise: restored, resolve: release } = Promise.withResolvers<void>();
  const put = app.storage.put.bind(app.storage);
  let isBegun = false;
  t.mock.method(app.storage, 'put', async (...args: Parameters<typeof put>) => {
    isBegun = true;
    await restored;
    return put(...args);
  });
  await app.db.write((tx) => askForBackup(tx, 'prod'));
  await eventually(async () => isBegun);
  const restoredFrom = await app.db.read(now);
  const done = await admin('restore', 'prod', '--at', good, '--yes');
  assert.equal(done.code, 0, done.err);
  await untilReady(owner, 'prod');
  assert.deepEqual(await namesIn(way), ['kept']);
  release();

  const listed = async () => JSON.parse((await admin('backups', 'list', 'prod', '--json')).out).backups;
  await eventually(async () => (await listed()).length === 2);
  const [late] = (await listed()).filter(({ backup }: { backup: string }) => backup !== good);
  assert.ok(Date.parse(late.at) < Date.parse(restoredFrom), `${late.at} is before ${restoredFrom}`);
  const after = await take(admin);
  assert.equal((await listed())[0].backup, after);
});
