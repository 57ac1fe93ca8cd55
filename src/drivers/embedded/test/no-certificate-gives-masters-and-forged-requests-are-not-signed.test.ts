import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approve, clientUsages, csrs, kubelet, signingRequest } from './signing-requests.ts';
import { embedded, makeRequest } from './support.ts';

test('no certificate gives system:masters, and forged requests are not signed', async (t) => {
  const { call } = await embedded(t);
  const client = 'kubernetes.io/kube-apiserver-client';
  const master = makeRequest('eve', ['system:masters']);
  const refusal = await call('POST', csrs, signingRequest('eve', master.pem, client, clientUsages));
  assert.equal(refusal.status, 403, refusal.text);

  // A user that is no node requests a node's certificate: it is approved, and the signer rejects it.
  assert.equal((await call('POST', csrs, signingRequest('not-a-node', master.pem, kubelet, clientUsages))).status, 201);
  const approved = await approve(call, 'not-a-node');
  assert.equal(approved.body.status.certificate, undefined);
  assert.deepEqual(
    approved.body.status.conditions.map(({ type }: { type: string }) => type),
    ['Approved', 'Failed'],
  );

  const { pem } = makeRequest('system:node:a', ['system:nodes']);
  const broken = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  broken[40]! ^= 1;
  const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${broken.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
  assert.equal((await call('POST', csrs, signingRequest('forged', forged, kubelet, clientUsages))).status, 422);

  await call('POST', csrs, signingRequest('denied', pem, kubelet, clientUsages));
  const { body } = await call('GET', `${csrs}/denied`);
  body.status = { conditions: [{ type: 'Denied', status: 'True' }] };
  assert.equal((await call('PUT', `${csrs}/denied/approval`, body)).status, 200);
  assert.equal((await approve(call, 'denied')).status, 422, 'a decision stays');
});
