import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publish, withDns } from './published.ts';

test('a server without a name says what to set', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api', QUARTERDECK_MAIL_HOST: '' });
  const { owner } = qd;
  const { id, dnsRecords } = (await owner.post('/email/domains', { name: 'example.com' })).body;
  assert.match(dnsRecords[2].value, /set QUARTERDECK_MAIL_HOST/);
  publish(dns, dnsRecords);
  const { body } = await owner.get(`/email/domains/${id}/dns`);
  assert.deepEqual(
    body.records.map((r: { outcome: string }) => r.outcome),
    ['found', 'found', 'error', 'error', 'found'],
  );
  assert.match(body.records[2].reason, /^this server is known as 127\.0\.0\.1, .* set QUARTERDECK_MAIL_HOST/);
  await qd.perform({ name: 'email.check-domains' });
  await qd.clock.advance('90h');
  await qd.perform({ name: 'email.check-domains' });
  assert.equal((await owner.get(`/email/domains/${id}`)).body.sendState, 'pending', 'it is not the domain that is wrong');
});
