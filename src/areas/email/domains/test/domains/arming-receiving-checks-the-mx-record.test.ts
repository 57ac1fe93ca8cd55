import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointAt, listening } from '../../../webhooks/test/listening.ts';
import { publish, withDns } from './published.ts';

test('arming checks the MX record, and a missing record fails receiving after a day', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8' });
  const { owner } = qd;
  const endpoint = await listening(t);
  await endpointAt(owner, endpoint.url, 'domain.updated');
  const look = () => qd.perform({ name: 'email.check-domains' });
  const { body: made } = await owner.post('/email/domains', { name: 'in.example.com' });
  publish(dns, made.dnsRecords);
  await look();
  const domain = async () => (await owner.get(`/email/domains/${made.id}`)).body;
  assert.deepEqual([(await domain()).sendState, (await domain()).receiveState], ['verified', 'none']);

  const { status, body: armed } = await owner.post(`/email/domains/${made.id}/receive`);
  assert.equal(status, 200);
  assert.equal(armed.receiveState, 'pending');
  const record = armed.dnsRecords.at(-1);
  assert.deepEqual(record, { capability: 'receive', type: 'MX', name: 'in.example.com', value: 'mx.host.example', priority: 10 });
  assert.deepEqual((await owner.post(`/email/domains/${made.id}/receive`)).body, armed, 'once more changes nothing');

  await qd.clock.advance('15s');
  await look();
  assert.deepEqual([(await domain()).sendState, (await domain()).receiveState], ['verified', 'pending'], 'sending does not wait for it');
  const seen = async () => (await owner.get(`/email/domains/${made.id}/dns`)).body.records.at(-1);
  assert.deepEqual([(await seen()).capability, (await seen()).reason], ['receive', 'nodata']);

  publish(dns, [record]);
  await qd.clock.advance('15s');
  await look();
  assert.equal((await domain()).receiveState, 'verified');
  assert.equal((await seen()).outcome, 'found');

  delete (dns.zone['in.example.com'] as { MX?: unknown }).MX;
  for (let looks = 0; looks < 4; looks++) {
    await qd.clock.advance('6h');
    await look();
    assert.equal((await domain()).receiveState, 'verified');
  }
  await qd.clock.advance('6h');
  await look();
  assert.deepEqual([(await domain()).sendState, (await domain()).receiveState], ['verified', 'failed']);
  await owner.post(`/email/domains/${made.id}/check`);
  assert.equal((await domain()).receiveState, 'pending', 'a requested check restarts the pending time');

  const told = (await endpoint.heard(4)).map(({ event: { data } }) => [data.sendState, data.previousReceiveState, data.receiveState]);
  assert.deepEqual(told, [
    ['verified', undefined, undefined],
    ['verified', 'pending', 'verified'],
    ['verified', 'verified', 'failed'],
    ['verified', 'failed', 'pending'],
  ]);
});
