import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { eventually } from '../../../../../test/harness/process.ts';
import { row, rows } from '../../../../kernel/db/index.ts';
import { askForRestore } from '../../index.ts';
import { type WithPrograms, withPrograms } from '../process/support.ts';
import { readyCluster } from '../support.ts';
import { clustersOf, take } from './support.ts';

/** From now on the storage gives the first bytes of an object, and then nothing. */
function standStill(t: TestContext, { app }: WithPrograms) {
  const open = app.storage.open.bind(app.storage);
  const opened: Readable[] = [];
  t.mock.method(app.storage, 'open', async (...args: Parameters<typeof open>) => {
    const found = (await open(...args))!;
    const all = Buffer.concat(await (found.stream as Readable).toArray());
    const stream = new Readable({ read() {} });
    stream.push(all.subarray(0, 100));
    opened.push(stream);
    return { ...found, stream };
  });
  t.after(() => {
    for (const stream of opened) stream.destroy();
  });
  return opened;
}

/** It takes seconds; storages take minutes to be given up. */
async function stopsSoon(qd: WithPrograms): Promise<void> {
  const over = new AbortController();
  const isSoon = await Promise.race([qd.stop().then(() => true), sleep(20_000, false, { signal: over.signal })]);
  over.abort();
  assert.ok(isSoon);
}

const CopyRow = Type.Object({ pid: Type.Integer() });
const copies = ({ app }: WithPrograms) =>
  app.db.read((tx) => rows(tx, CopyRow)`select pid from pg_stat_activity where application_name = 'quarterdeck cluster backup'`);

test('a server stops while a restore waits for its storage', async (t) => {
  const qd = await withPrograms(t);
  await readyCluster(qd.owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const backup = await take(clustersOf(qd));
  const isChecked = Type.Object({ is_checked: Type.Boolean() });
  await eventually(
    async () =>
      (await qd.app.db.read((tx) => row(tx, isChecked)`select checked_at is not null as is_checked from clusters.backup`))?.is_checked,
    { withinMs: 60_000 },
  );
  const opened = standStill(t, qd);
  await qd.app.db.write((tx) => askForRestore(tx, 'prod', backup));
  await eventually(async () => opened.length === 1, { withinMs: 20_000 });
  await stopsSoon(qd);
});

test('a cluster is deleted, and a server stops, while a check waits for its storage', async (t) => {
  const qd = await withPrograms(t);
  const admin = clustersOf(qd);
  for (const name of ['gone', 'prod']) await readyCluster(qd.owner, { name, orchestratorVersion: 'v1.36.4' });
  const opened = standStill(t, qd);
  await take(admin, 'gone');
  await eventually(async () => opened.length === 1, { withinMs: 20_000 });
  assert.equal((await qd.owner.delete('/clusters/gone')).status, 202);
  await eventually(async () => (await qd.owner.get('/clusters/gone')).status === 404, { withinMs: 15_000 });
  assert.deepEqual(await copies(qd), [], 'its connection is closed');
  await take(admin);
  await eventually(async () => opened.length === 2, { withinMs: 20_000 });
  await stopsSoon(qd);
});
