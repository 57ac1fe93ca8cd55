import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import * as store from '../../store/shards.ts';

test('a cluster moves to a server that has its version; a version that no server has is listed as expired', async (t) => {
  const { owner, app } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_PUBLIC_URL: 'http://localhost' } });
  const [here, there] = [randomUUID(), randomUUID()];
  const touch = (id: string, versions: string[]) =>
    app.db.write((tx) =>
      store.touchShard(tx, {
        id,
        process: id.slice(0, 8),
        leaving: false,
        versions,
        withoutCgroups: null,
        sharing: null,
        directory: randomUUID(),
        hasEtcd: false,
      }),
    );
  const claim = (versions: string[]) =>
    app.db.write((tx) =>
      store.claimClusters(tx, {
        limit: 10,
        shard: here,
        lease: randomUUID(),
        leaseSeconds: 20,
        held: [],
        drivers: ['process'],
        versions,
        directory: randomUUID(),
        hasEtcd: false,
      }),
    );
  const markOf = async (id: string, versions: string[]) =>
    (await app.db.read((tx) => store.workStatesOf(tx, [id], { versions, seconds: 20 })))[0]!;
  await touch(here, ['v1.35.8']);
  await touch(there, ['v1.35.8', 'v1.36.4']);
  const made = await owner.post('/clusters', { name: 'prod', tier: 'small', orchestratorVersion: 'v1.35.8' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual(await claim([]), []);
  assert.deepEqual(await claim(['v1.36.4']), []);
  const [claimed] = await claim(['v1.35.8']);
  assert.ok(claimed);

  // An upgrade to what only another server has: the holder lets go of it, and does so only then.
  assert.equal((await markOf(claimed.id, ['v1.35.8'])).is_for_another, false);
  await app.db.write((tx) => run(tx)`update clusters.cluster set version = 'v1.36.4' where id = ${claimed.id}`);
  assert.equal((await markOf(claimed.id, ['v1.35.8'])).is_for_another, true);
  assert.equal((await markOf(claimed.id, ['v1.36.4'])).is_for_another, false);
  assert.equal(await app.db.write((tx) => store.releaseCluster(tx, { id: claimed.id, lease: randomUUID() })), 0, 'not somebody else’s');
  assert.equal(await app.db.write((tx) => store.releaseCluster(tx, claimed)), 1);
  assert.equal((await claim(['v1.36.4']))[0]?.id, claimed.id);

  // No server has it any more: the cluster stays with its holder, and the version is listed but not available.
  await touch(there, []);
  assert.equal((await markOf(claimed.id, ['v1.35.8'])).is_for_another, false);
  const { body } = await owner.get('/cluster-versions');
  assert.equal(body.versions.find(({ version }: { version: string }) => version === 'v1.36.4').state, 'expired');
  const refused = await owner.post('/clusters', { name: 'more', tier: 'small', orchestratorVersion: 'v1.36.4' });
  assert.equal(refused.status, 400);
  assert.match(refused.body.error, /the operator runs quarterdeck admin clusters install v1\.36\.4/);

  // What is to go needs no programs.
  await app.db.write((tx) => store.releaseCluster(tx, { id: claimed.id, lease: claimed.lease }));
  await app.db.write(
    (tx) =>
      run(
        tx,
      )`update clusters.cluster set phase = 'deleting', lease = null, lease_until = null, run_at = kernel.now() where id = ${claimed.id}`,
  );
  assert.equal((await claim([]))[0]?.id, claimed.id);
});
