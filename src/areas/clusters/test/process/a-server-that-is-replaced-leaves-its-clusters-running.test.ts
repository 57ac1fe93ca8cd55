import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { test } from 'node:test';
import Type from 'typebox';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually, scratch } from '../../../../../test/harness/process.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { handOverEnding } from '../../../../kernel/lifecycle/ending.ts';
import { keepPostgres } from '../../../../kernel/postgres/index.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { clustersAlone, fakeBinaries, recordsIn } from './support.ts';

const LeaseRow = Type.Object({ id: Type.String(), lease: Type.Union([Type.String(), Type.Null()]) });

test('a server that is replaced leaves programs and leases to the next one, and ends watches cleanly', async (t) => {
  const { dataDir } = await scratch(t, { isMigrated: true });
  const env = await clustersAlone(await fakeBinaries(t));
  const { connection, stop } = await keepPostgres({ dataDir });
  t.after(stop);
  const first = await quarterdeck(t, { connection, dataDir, env });
  await readyCluster(first.owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  await readyCluster(first.owner, { name: 'embedded', orchestratorVersion: 'v1.36.0+embedded' });
  const way = await adminOf(first.owner, 'prod');
  const leasesIn = ({ app }: Quarterdeck) => app.db.read((tx) => rows(tx, LeaseRow)`select id, lease from clusters.cluster order by id`);
  const [held, programs] = [await leasesIn(first), await recordsIn(dataDir)];
  assert.equal(programs.length, 3);
  const watching = request(`${way.server}/api/v1/namespaces?watch=1`, {
    ca: way.ca,
    headers: { authorization: `Bearer ${way.token}` },
    agent: false,
  });
  watching.end();
  const [watch] = (await once(watching, 'response')) as [IncomingMessage];
  const watched = watch.toArray();

  const handedOver = new Map<string, unknown>();
  await first.stop({ ...handOverEnding, leave: (name, value) => void handedOver.set(name, JSON.parse(JSON.stringify(value))) });
  await watched;
  assert.ok(watch.complete, 'the watch was ended, not cut');

  const second = await quarterdeck(t, { connection, dataDir, env, handedOver });
  for (const name of ['prod', 'embedded']) await untilReady(second.owner, name);
  await eventually(async () => (await kube(way, 'GET', '/api/v1/namespaces')).status === 200);
  assert.deepEqual(await leasesIn(second), held, 'no lease was given back and claimed anew');
  assert.deepEqual(await recordsIn(dataDir), programs, 'no program was started again');
  await second.stop();
});
