import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { fakeSmtp } from '../../../../../test/fakes/smtp.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { rows, run } from '../../../../kernel/db/index.ts';
import { removeOldBackups } from '../../tasks.ts';
import { programsIn, schemasOf, withPrograms } from '../process/support.ts';
import { adminOf, readyCluster, untilReady } from '../support.ts';
import { clustersOf, putMap } from './support.ts';

const StateRow = Type.Object({ id: Type.String(), is_checked: Type.Boolean(), failure: Type.Union([Type.String(), Type.Null()]) });

test('backups are made every six hours, the newest is restored and counted each day, and seven stay', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app, clock } = qd;
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const off = await owner.post('/clusters', {
    name: 'bare',
    tier: 'small',
    orchestratorVersion: 'v1.36.4',
    datastore: { mode: 'shared', backups: false },
  });
  assert.equal(off.status, 201);
  await untilReady(owner, 'bare');
  const way = await adminOf(owner, 'prod');
  for (let n = 0; n < 20; n++) await putMap(way, `m-${n}`);
  const found = () =>
    app.db.read(
      (tx) => rows(tx, StateRow)`
        select id, checked_at is not null as is_checked, check_failure as failure from clusters.backup where state = 'complete' order by at`,
    );
  const stored = async () => {
    let count = 0;
    for await (const _ of app.storage.list('cluster-backups/')) count++;
    return count;
  };
  assert.deepEqual(await found(), [], 'a new cluster has nothing to lose yet');
  const before = await programsIn(qd.dataDir);

  await clock.advance('61m');
  await eventually(async () => (await found()).filter(({ is_checked }) => is_checked).length === 1, { withinMs: 60_000 });
  assert.deepEqual(
    (await found()).map(({ failure }) => failure),
    [null],
  );
  await eventually(async () => (await schemasOf(app)).every((name) => !name.endsWith('_check')));
  assert.deepEqual((await programsIn(qd.dataDir)).sort(), before.sort(), 'nothing of the check stays');
  const usage = (await owner.get('/clusters/prod/usage')).body;
  assert.match(usage.datastore.lastBackupAt, /^\d{4}-/);
  assert.deepEqual(
    usage.limitations.filter((each: string) => each.startsWith('backups')),
    [],
  );

  for (let n = 2; n <= 9; n++) {
    const last = (await found()).at(-1)!.id;
    await clock.advance('361m');
    await eventually(async () => (await found()).at(-1)!.id !== last, { withinMs: 60_000 });
  }
  // Checks are made beside backups; the last good one stays until another one is good.
  await eventually(async () => (await found()).length === 7, { withinMs: 60_000 });
  await eventually(async () => (await found()).filter(({ is_checked }) => is_checked).length >= 1, { withinMs: 60_000 });
  assert.ok((await found()).filter(({ is_checked }) => is_checked).length <= 3, 'once a day, not every time');
  await qd.perform(removeOldBackups);
  assert.equal(await stored(), 7);
  assert.deepEqual(JSON.parse((await clustersOf(qd)('backups', 'list', 'bare', '--json')).out).backups, [], 'none where they are off');

  await untilReady(owner, 'prod');
  assert.equal((await owner.delete('/clusters/prod')).status, 202);
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
  await qd.perform(removeOldBackups);
  assert.equal(await stored(), 0, 'they go with their cluster');
});

test('a backup that fails, or cannot be restored, is told to the owners, to the operator, and in usage', async (t) => {
  const smtp = await fakeSmtp(t);
  const qd = await withPrograms(t, {
    env: { QUARTERDECK_METRICS_TOKEN: 'scrape', QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_MAIL_FROM: 'qd@example.com' },
  });
  const { owner, app, clock } = qd;
  await app.db.write((tx) => run(tx)`update identity.account set email = 'ada@example.com' where id = ${owner.userId}`);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const way = await adminOf(owner, 'prod');
  await putMap(way, 'kept');
  const [schema] = await schemasOf(app);
  const limits = async () =>
    (await owner.get('/clusters/prod/usage')).body.limitations.filter((each: string) => each.startsWith('backups'));

  // Its table has another shape for a while: the copy fails.
  await app.db.write((tx) => tx.query({ strings: [`alter table ${schema}.kine rename column lease to gone`], values: [] }));
  await clock.advance('61m');
  await eventually(async () => (await limits()).length === 1, { withinMs: 30_000 });
  assert.match((await limits())[0], /^backups: the last one failed, there is none/);
  await eventually(async () => smtp.received.length === 1);
  assert.deepEqual(smtp.received[0]!.to, ['ada@example.com']);
  assert.match(smtp.received[0]!.data, /^Subject: The cluster prod has no good new backup\r$/m);
  const metrics = await (await fetch(`${qd.url}/metrics`, { headers: { authorization: 'Bearer scrape' } })).text();
  assert.match(metrics, /^quarterdeck_clusters_backups_failing 1$/m);
  const taken = await clustersOf(qd)('backups', 'take', 'prod');
  assert.deepEqual([taken.code, /its log says why/.test(taken.err)], [11, true], taken.err);
  await clock.advance('20m');
  await eventually(async () => (await limits()).length === 1);
  assert.equal(smtp.received.length, 1, 'once a day');

  await app.db.write((tx) => tx.query({ strings: [`alter table ${schema}.kine rename column gone to lease`], values: [] }));
  await clock.advance('20m');
  await eventually(async () => (await limits()).length === 0, { withinMs: 60_000 });
  await eventually(async () => (await owner.get('/clusters/prod/usage')).body.datastore.lastBackupAt !== undefined);

  // One whose object lost its end is found by the check of the day.
  await eventually(async () => (await app.db.read((tx) => run(tx)`select 1 from clusters.backup where checked_at is not null`)) === 1, {
    withinMs: 60_000,
  });
  await app.db.write((tx) => run(tx)`update clusters.backup set checked_at = null`);
  for await (const { key } of app.storage.list('cluster-backups/')) {
    const { stream } = (await app.storage.open(key))!;
    const bytes = Buffer.concat(await stream.toArray());
    await app.storage.put(key, bytes.subarray(0, bytes.length - 1));
  }
  await clock.advance('1m');
  await eventually(
    async () => (await limits()).some((each: string) => /could not be restored: the backup bak_\w+ cannot be used/.test(each)),
    { withinMs: 60_000 },
  );
  await eventually(async () => smtp.received.length === 2);
});
