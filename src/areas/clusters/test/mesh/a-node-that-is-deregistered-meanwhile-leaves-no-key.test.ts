import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { dismissNode } from '../../engine/mesh/admit.ts';
import { askForPeers } from '../../engine/mesh/ask.ts';
import { lockMesh, peersOf } from '../../store/mesh.ts';
import { refuseCertificates } from '../../store/nodes.ts';
import { newPublicKey } from './support.ts';

test('a node that is deregistered while it says its key leaves none, so its name is free', async (t) => {
  const { app, owner } = await quarterdeck(t);
  const cluster = { id: 'clu_1', org_id: owner.orgId };
  const certificate = 'a'.repeat(64);
  await app.db.write(async (tx) => {
    await run(tx)`
      insert into clusters.mesh (org_id, cluster_id, enabled_at, network, public_key, private_key, port)
      values (${cluster.org_id}, ${cluster.id}, kernel.now(), '100.64.0.0/20', ${newPublicKey()}, '', 51820)`;
    await run(tx)`
      insert into clusters.node_certificate (org_id, cluster_id, fingerprint, node, expires_at)
      values (${cluster.org_id}, ${cluster.id}, ${certificate}, 'worker', kernel.now() + interval '1 hour')`;
  });
  const mesh = { poke: () => {}, follow: async () => undefined } as never;
  const held = Promise.withResolvers<void>();
  const isRefused = Promise.withResolvers<void>();
  const isLocked = Promise.withResolvers<void>();
  // Another node of the mesh is being admitted; meanwhile this one asks, and is deregistered.
  const admitting = app.db.write(async (tx) => {
    await lockMesh(tx, cluster.id);
    isLocked.resolve();
    await held.promise;
  });
  await isLocked.promise;
  const asking = askForPeers(
    app,
    mesh,
    cluster,
    { node: 'worker', certificate, publicKey: newPublicKey(), revision: '', reached: [] },
    AbortSignal.timeout(20_000),
  ).then(
    () => 'answered',
    (error: Error) => error.message,
  );
  const waiting = () => app.db.read((tx) => run(tx)`select 1 from pg_locks where not granted`);
  await eventually(async () => (await waiting()) > 0);
  const deregistering = app.db
    .write(async (tx) => {
      await refuseCertificates(tx, cluster.id, 'worker');
      await dismissNode(tx, cluster, 'worker');
    })
    .then(isRefused.resolve);
  await Promise.race([isRefused.promise, eventually(async () => (await waiting()) > 1)]);
  held.resolve();
  await Promise.all([admitting, deregistering]);
  const said = await asking;
  const left = await app.db.read((tx) => peersOf(tx, cluster.id));
  assert.ok(said === 'answered' || /was deregistered/.test(said), said);
  assert.deepEqual(left, [], 'whichever comes first, the deregistration has the last word');
});
