import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { renewCertificates } from '../../tasks.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster, type Way } from '../support.ts';

const shownAt = ({ server, ca }: Way): Promise<X509Certificate> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server);
    const socket = connect({ host: hostname, port: Number(port), ca }, () => {
      resolve(socket.getPeerX509Certificate()!);
      socket.end();
    });
    socket.on('error', reject);
  });

test('certificates are renewed at two thirds of their lifetime, and clients keep trusting the cluster', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock, app } = qd;
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const command = (await owner.post('/clusters/prod/join-tokens')).body.joinCommand as string;
  const pin = /sha256:[0-9a-f]{64}/.exec(command)![0];
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  const first = await shownAt(admin);

  await clock.advance('59d');
  await qd.perform(renewCertificates);
  assert.equal((await shownAt(admin)).serialNumber, first.serialNumber, 'too early');
  await clock.advance('2d');
  await qd.perform(renewCertificates);
  await eventually(async () => (await shownAt(admin)).serialNumber !== first.serialNumber);

  // Years later the authority itself, with the same key: pins and old certificates hold.
  const second = await shownAt(admin);
  await app.db.write((tx) => run(tx)`update clusters.pki set ca_renew_at = kernel.now() - interval '1 second'`);
  await qd.perform(renewCertificates);
  await eventually(async () => (await shownAt(admin)).serialNumber !== second.serialNumber);
  const renewed = await adminOf(owner, 'prod');
  assert.notEqual(renewed.ca, admin.ca);
  assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 200);
  assert.equal((await kube(renewed, 'GET', '/api/v1/nodes')).status, 200);
  assert.equal(/sha256:[0-9a-f]{64}/.exec((await owner.post('/clusters/prod/join-tokens')).body.joinCommand)![0], pin);
});
