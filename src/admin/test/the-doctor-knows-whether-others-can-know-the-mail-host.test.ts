import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeDns } from '../../../test/fakes/dns.ts';
import { readConfig } from '../../kernel/config.ts';
import { checkMailHost } from '../doctor/mail.ts';

test('the doctor knows whether the mail host has an address, and whether that names it back', async (t) => {
  const dns = await fakeDns(t);
  const { config } = readConfig({ QUARTERDECK_MAIL_HOST: 'mx.host.example', QUARTERDECK_DNS_SERVERS: dns.address }, '.');
  const look = async () => (await checkMailHost(config)).map(({ verdict, says }) => `${verdict} ${says}`);
  assert.match((await look()).join('\n'), /^warn mx\.host\.example has no address in the DNS/);
  dns.zone['mx.host.example'] = { A: ['192.0.2.7'] };
  assert.match((await look()).join('\n'), /^ok mx\.host\.example has an address.*\nwarn 192\.0\.2\.7 has no name in the DNS \(PTR\)/);
  dns.zone['7.2.0.192.in-addr.arpa'] = { PTR: ['other.example'] };
  assert.match((await look()).join('\n'), /warn 192\.0\.2\.7 is called other\.example in the DNS/);
  dns.zone['7.2.0.192.in-addr.arpa'] = { PTR: ['mx.host.example'] };
  assert.match((await look()).join('\n'), /^ok .*\nok 192\.0\.2\.7 names mx\.host\.example back \(PTR\)$/);
});
