import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { maxPerCluster } from '../../rules/requests.ts';
import { tierOf } from '../../rules/tiers.ts';
import { clusterByName } from '../../store/clusters.ts';
import { countCertificates } from '../../store/nodes.ts';
import { adminOf, askCertificate, joinNode, joinToken, nodeKeys, nodeSubject, readyCluster } from '../support.ts';

test('node certificates are limited per cluster until some expire', async (t) => {
  const { owner, app, clock } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const { id, org_id } = (await app.db.read((tx) => clusterByName(tx, owner.orgId, 'prod')))!;
  const admin = await adminOf(owner, 'prod');
  const { way } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  const count = () => app.db.read((tx) => countCertificates(tx, id, 'worker-1'));
  assert.deepEqual(await count(), { of_node: 1, of_cluster: 1 });
  // What it serves with counts too.
  const served = await askCertificate(way, nodeKeys(nodeSubject('worker-1'), { dns: ['worker-1'], ip: ['10.1.2.3'] }), {
    signer: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
  });
  assert.ok('certificate' in served, JSON.stringify(served));
  await eventually(async () => (await count()).of_node === 2); // noted once the cluster tells of it

  // Nodes that came and went, each with a certificate that is refused and not expired.
  const most = maxPerCluster(tierOf('small').nodes);
  assert.equal(most, 1_100);
  await app.db.write(
    (tx) => run(tx)`
    insert into clusters.node_certificate (org_id, cluster_id, fingerprint, node, expires_at, refused_at)
    select ${org_id}, ${id}, 'f' || n, 'gone-' || n, kernel.now() + interval '1 hour', kernel.now() from generate_series(1, ${most - 2}) n`,
  );
  const token = await joinToken(owner, 'prod');
  const join = () => askCertificate({ server: way.server, ca: way.ca, token }, nodeKeys(nodeSubject('worker-2')));
  for (const refused of [await join(), await askCertificate(way, nodeKeys(nodeSubject('worker-1')))])
    assert.deepEqual(refused, {
      denied: 'TooManyCertificates',
      message:
        'the cluster’s nodes were given 1100 certificates within a week, as many as its tier allows; try again when some have expired',
    });
  await clock.advance('61m');
  const again = await joinToken(owner, 'prod');
  assert.ok('certificate' in (await askCertificate({ server: way.server, ca: way.ca, token: again }, nodeKeys(nodeSubject('worker-2')))));
});
