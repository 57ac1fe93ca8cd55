import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { openRace } from '../../../../../test/harness/race.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { adminOf, kube, readyCluster } from '../support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const MeteredRow = Type.Object({ is_metered: Type.Boolean() });

test('the peak of concurrent requests belongs to its month, whatever came before', async (t) => {
  const qd = await quarterdeck(t);
  const race = await openRace(qd.connection);
  t.after(race.close);
  await readyCluster(qd.owner, { name: 'prod' });
  const admin = await adminOf(qd.owner, 'prod');
  const isMetered = () =>
    qd.app.db.read(
      async (tx) =>
        (await row(tx, MeteredRow)`select metered_at > kernel.now() - interval '30 seconds' as is_metered from clusters.cluster`)!
          .is_metered,
    );
  const api = async () => {
    await qd.clock.advance('61s');
    await eventually(isMetered, { withinMs: 30_000 });
    return (await qd.owner.get('/clusters/prod/usage')).body.api as { requests: number; inflightPeak: number };
  };

  // Six at once: the first waits for the cluster's lock, the others for the first.
  const writeAtOnce = async () => {
    await race.hold('select from clusters.object_space for update');
    const writes = Array.from({ length: 6 }, () =>
      kube(admin, 'POST', maps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'm-' } }),
    );
    await race.untilWaiting(1);
    await new Promise((resolve) => setTimeout(resolve, 500)); // the others have only to arrive; on a busy machine that may take longer
    await race.release();
    assert.deepEqual(new Set((await Promise.all(writes)).map(({ status }) => status)), new Set([201]));
    return api();
  };
  let busy = await writeAtOnce();
  for (let tries = 1; busy.inflightPeak < 6 && tries < 4; tries++) busy = await writeAtOnce();
  assert.ok(busy.inflightPeak >= 6, JSON.stringify(busy));

  // The next look saw less at once; the month’s peak stays.
  assert.equal((await kube(admin, 'GET', maps)).status, 200);
  assert.equal((await api()).inflightPeak, busy.inflightPeak);

  await qd.app.db.write(
    (tx) =>
      run(
        tx,
      )`update kernel.clock set clock_offset = clock_offset + (date_trunc('month', kernel.now()) + interval '1 month' - kernel.now())`,
  );
  assert.equal((await kube(admin, 'GET', maps)).status, 401, 'its hour is over');
  const quiet = await api();
  assert.ok(quiet.inflightPeak >= 1 && quiet.inflightPeak < 6, JSON.stringify(quiet));
});
