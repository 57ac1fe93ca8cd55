import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { eventually, scratch } from '../../../../../test/harness/process.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';

const MeteredRow = Type.Object({ is_metered: Type.Boolean() });

test('hours are counted over restarts, each into its own month', async (t) => {
  const { connection, drop } = await freshDatabase();
  const { dir: dataDir } = await scratch(t);
  const first = await quarterdeck(t, { connection, dataDir });
  t.after(drop);
  await readyCluster(first.owner, { name: 'prod' });
  const admin = await adminOf(first.owner, 'prod');
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' }, status: { capacity: { cpu: '3900m', memory: '1Gi' } } };
  assert.equal((await kube(admin, 'POST', '/api/v1/nodes', node)).status, 201);
  // To the first of a month: what is counted from here on is known to the minute.
  await first.app.db.write(
    (tx) =>
      run(
        tx,
      )`update kernel.clock set clock_offset = clock_offset + (date_trunc('month', kernel.now()) + interval '1 month' - kernel.now())`,
  );
  const usage = async () => (await first.owner.get('/clusters/prod/usage')).body;
  await first.clock.advance('1m');
  const isMetered = () =>
    first.app.db.read(
      async (tx) =>
        (await row(tx, MeteredRow)`select metered_at > kernel.now() - interval '30 seconds' as is_metered from clusters.cluster`)!
          .is_metered,
    );
  await eventually(isMetered);
  const before = await usage();
  assert.ok(before.controlPlane.hours > 0 && before.controlPlane.hours < 0.1, `only this month counts: ${before.controlPlane.hours}`);
  await first.clock.advance('2h');
  await eventually(isMetered);
  await first.stop();

  const second = await quarterdeck(t, { connection, dataDir });
  await untilReady(second.owner, 'prod');
  await second.clock.advance('1h');
  await untilReady(second.owner, 'prod'); // its lease has lapsed with the clock
  const { body } = await second.owner.get('/clusters/prod/usage');
  assert.ok(body.controlPlane.hours >= 3 && body.controlPlane.hours < 3.2, JSON.stringify(body.controlPlane));
  assert.ok(body.nodes.nodeHours >= 3 && body.nodes.nodeHours < 3.2, JSON.stringify(body.nodes));
  assert.ok(body.api.requests >= 1, JSON.stringify(body.api));
  assert.equal(body.window.from.slice(8), '01T00:00:00.000Z');
  await second.stop();
});
