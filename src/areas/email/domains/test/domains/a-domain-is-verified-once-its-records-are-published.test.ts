import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publish, withDns } from './published.ts';

test('a domain is verified once its records are published', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api' }, { makesKeys: true });
  const { owner } = qd;
  const check = () => qd.perform({ name: 'email.check-domains' });
  const made = await owner.post('/email/domains', { name: ' Mail.Example.COM. ' });
  assert.equal(made.status, 201);
  const { id, name, sendState, receiveState, dnsRecords } = made.body;
  assert.deepEqual([name, sendState, receiveState], ['mail.example.com', 'pending', 'none']);
  assert.deepEqual(
    // biome-ignore lint/suspicious/noExplicitAny: an answer
    dnsRecords.map((r: any) => [r.type, r.name.replace(/^qd[0-9a-f]{8}/, ''), r.value.replace(/p=[^ ]{30,}/, 'p=…'), r.priority]),
    [
      ['TXT', 'r._domainkey.mail.example.com', 'v=DKIM1; k=rsa; p=…', undefined],
      ['TXT', 'e._domainkey.mail.example.com', 'v=DKIM1; k=ed25519; p=…', undefined],
      ['MX', 'bounce.mail.example.com', 'mx.host.example', 10],
      ['TXT', 'bounce.mail.example.com', 'v=spf1 a:mx.host.example ~all', undefined],
      ['TXT', '_dmarc.mail.example.com', 'v=DMARC1; p=none', undefined],
    ],
  );

  await check();
  assert.equal((await owner.get(`/email/domains/${id}`)).body.sendState, 'pending');
  const observed = async () =>
    // biome-ignore lint/suspicious/noExplicitAny: an answer
    (await owner.get(`/email/domains/${id}/dns`)).body.records.map((r: any) => [r.outcome, r.reason]);
  assert.deepEqual(await observed(), Array(5).fill(['missing', 'nxdomain']));

  publish(dns, dnsRecords.slice(0, 4)); // without DMARC, which is only advised
  assert.deepEqual(await observed(), [...Array(4).fill(['found', undefined]), ['missing', 'nxdomain']]);
  await check();
  assert.equal((await owner.get(`/email/domains/${id}`)).body.sendState, 'pending', 'not before its next check is due');
  await qd.clock.advance('15s');
  await check();
  assert.equal((await owner.get(`/email/domains/${id}`)).body.sendState, 'verified');
});
