import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publish, verifiedDomain, withDns } from './published.ts';

test('a missing record fails a domain after a day, and failed lookups change nothing', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const { owner } = qd;
  const { id, dnsRecords } = await verifiedDomain(qd, dns, owner, 'example.com');
  const later = async (by: string) => {
    await qd.clock.advance(by);
    await qd.perform({ name: 'email.check-domains' });
    return (await owner.get(`/email/domains/${id}`)).body.sendState;
  };
  const whole = { ...dns.zone };

  for (const name of Object.keys(dns.zone)) dns.zone[name] = 'servfail';
  for (let i = 0; i < 8; i++) assert.equal(await later('6h'), 'verified', 'a server that is down proves nothing');
  for (const name of Object.keys(dns.zone)) delete dns.zone[name];
  for (const at of [0, 6, 12, 18]) assert.equal(await later('6h'), 'verified', `missing for ${at} h`);
  Object.assign(dns.zone, whole);
  assert.equal(await later('6h'), 'verified');
  for (const name of Object.keys(dns.zone)) delete dns.zone[name];
  for (const at of [0, 6, 12, 18]) assert.equal(await later('6h'), 'verified', `missing anew for ${at} h`);
  assert.equal(await later('6h'), 'failed');

  publish(dns, dnsRecords);
  assert.equal(await later('6h'), 'verified', 'it heals by itself');
});

test('a domain fails after three days, checks end after two weeks, and a request restarts them', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const { owner } = qd;
  const { id, dnsRecords } = (await owner.post('/email/domains', { name: 'example.com' })).body;
  const check = () => qd.perform({ name: 'email.check-domains' });
  const state = async () => (await owner.get(`/email/domains/${id}`)).body.sendState;
  await check();
  await qd.clock.advance('71h');
  await check();
  assert.equal(await state(), 'pending');
  await qd.clock.advance('1h');
  await check();
  assert.equal(await state(), 'failed');
  await qd.clock.advance('12d');
  await check();
  publish(dns, dnsRecords);
  await qd.clock.advance('90d');
  const asked = dns.asked.length;
  await check();
  assert.deepEqual([await state(), dns.asked.length - asked], ['failed', 0], 'checks have stopped');

  const answered = await owner.post(`/email/domains/${id}/check`);
  assert.deepEqual([answered.status, answered.body], [202, { status: 'scheduled' }]);
  assert.equal(await state(), 'pending');
  await check();
  assert.equal(await state(), 'verified');
});
