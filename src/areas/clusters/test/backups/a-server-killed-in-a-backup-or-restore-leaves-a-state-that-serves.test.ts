import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { installFakes } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { askForMove } from '../../index.ts';
import { recordsIn, versions } from '../process/support.ts';
import { untilReady } from '../support.ts';
import { backupPoints, dieInBackup, dieInRestore, restorePoints, StateRow, withMortalShard } from './killed.ts';
import { answers, namesIn, putMap } from './support.ts';

test('a server killed while it makes a backup leaves no half of one, and the next one makes it', (t) =>
  // test/faults has every point.
  dieInBackup(t, backupPoints.slice(2, 3)));

test('a server killed while it restores leaves the objects from before, or those of the backup', (t) =>
  dieInRestore(
    t,
    restorePoints.filter(([point]) => point.includes('switched')),
  ));

test('a server killed while it moves a cluster leaves it on kine, whose rows any server reaches', async (t) => {
  const { app, owner, way, servers, restart, binaries, dataDir } = await withMortalShard(t, { mode: 'dedicated' });
  await putMap(way, 'kept');
  await installFakes(binaries, versions, { withEtcd: true });
  await restart("committed:update clusters.store_change s set state = 'loading'");
  await answers(way);
  await eventually(() => app.db.write((tx) => askForMove(tx, 'prod')), { withinMs: 30_000 });
  assert.ok(await servers.diesWithin(60_000), 'it never began');
  // The next server has no etcd: it takes the cluster all the same.
  for (const name of ['etcd', 'etcdutl']) await rm(join(binaries, name));
  await restart();
  await untilReady(owner, 'prod');
  await answers(way);
  assert.deepEqual(await namesIn(way), ['kept']);
  const [change] = await app.db.read((tx) => rows(tx, StateRow)`select state from clusters.store_change`);
  assert.equal(change!.state, 'failed');
  assert.ok(!(await recordsIn(dataDir)).some(({ kind }) => kind === 'etcd'));
  await putMap(way, 'more');
});
