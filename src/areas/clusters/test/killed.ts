import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import Type from 'typebox';
import { freePort } from '../../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { atStatement, KillableServers } from '../../../../test/harness/kill/index.ts';
import { eventually, scratch } from '../../../../test/harness/process.ts';
import { rows } from '../../../kernel/db/index.ts';
import { adminOf, joinNode, joinToken, kube, untilReady } from './support.ts';

const CountRow = Type.Object({ name: Type.String(), n: Type.Integer() });

/**
 * A shard server kills itself at each of these statements, in every phase of a cluster’s life; the next one goes on from there. What comes
 * of it must be what a server that never died makes: one set of keys, one port, one answer; and in the end nothing.
 */
export async function dieEverywhere(t: TestContext, points: Record<'create' | 'change' | 'remove', readonly string[]>): Promise<void> {
  const env = { QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${await freePort()}` };
  const api = await quarterdeck(t, { env: { ...env, QUARTERDECK_ROLES: 'api,worker' } });
  const { owner, app } = api;
  const { dir } = await scratch(t);
  const shared = { ...env, QUARTERDECK_PUBLIC_URL: api.url, QUARTERDECK_ROLES: 'shard' };
  const servers = new KillableServers(t, { dir, dataDir: api.dataDir, connection: api.connection, env: () => shared });
  /** The next server, which recovers; it runs in this process because it is not killed. */
  const startNext = () => quarterdeck(t, { connection: api.connection, dataDir: api.dataDir, env: { ...env, QUARTERDECK_ROLES: 'shard' } });
  const lapse = () => api.clock.advance('30s');

  const dieAtEach = async (which: readonly string[], isOver: () => Promise<boolean>) => {
    let deaths = 0;
    for (const point of which) {
      servers.start(0, atStatement('clusters', point));
      if (await servers.diesWithin(60_000, { isOver })) deaths++;
      await lapse();
    }
    assert.ok(deaths > 0, 'none of the points was ever reached: this proves nothing');
  };
  const phaseOf = async () => (await owner.get('/clusters')).body.clusters?.[0]?.phase ?? 'gone';

  assert.equal((await owner.post('/clusters', { name: 'prod', tier: 'small', orchestratorVersion: 'v1.35.0+embedded' })).status, 201);
  await dieAtEach(points.create, async () => (await phaseOf()) === 'ready');
  const first = await startNext();
  const made = await untilReady(owner, 'prod');
  const admin = await adminOf(owner, 'prod');
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  await first.stop();

  assert.equal((await owner.patch('/clusters/prod', { tier: 'large', replicas: 3 })).status, 200);
  await dieAtEach(points.change, async () => (await phaseOf()) === 'ready');
  const second = await startNext();
  const changed = await untilReady(owner, 'prod');
  assert.deepEqual([changed.tier, changed.replicas, changed.endpoint], ['large', 3, made.endpoint]);
  await eventually(async () =>
    kube(node, 'GET', '/api/v1/nodes/worker-1').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  await second.stop();

  assert.equal((await owner.delete('/clusters/prod')).status, 202);
  await dieAtEach(points.remove, async () => (await phaseOf()) === 'gone');
  await startNext();
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
  const left = await app.db.read(
    (tx) => rows(tx, CountRow)`
    select tablename::text as name, (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from clusters.%I', tablename), false, true, '')))[1]::text::int as n
      from pg_tables where schemaname = 'clusters' and tablename <> 'shard'`,
  );
  assert.deepEqual(
    left.filter(({ n }) => n > 0),
    [],
  );
  await assert.rejects(kube(node, 'GET', '/version'), 'the listener is closed');
}
