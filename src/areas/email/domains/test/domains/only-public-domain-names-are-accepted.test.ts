import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parentsOf, readDomainName } from '../../rules/domain-name.ts';
import { whyNotMailHost } from '../../rules/mail-host.ts';

test('only public domain names are accepted, in one spelling', () => {
  const same: Record<string, string> = {
    'Example.COM.': 'example.com',
    ' mail.example.com ': 'mail.example.com',
    'Bücher.example': 'xn--bcher-kva.example',
    'xn--bcher-kva.example': 'xn--bcher-kva.example',
    'ｅｘａｍｐｌｅ。com': 'example.com',
    'a-b.c1.co.uk': 'a-b.c1.co.uk',
  };
  for (const [text, name] of Object.entries(same)) assert.deepEqual(readDomainName(text), { name }, text);

  const refused = ['', '.', 'com', 'localhost', '127.0.0.1', '0x7f.1', '2130706433', '[::1]', '::1', 'a..b', '-a.com', 'a-.com', 'a_b.com'];
  refused.push(
    'user@example.com',
    'https://example.com',
    'example.com/x',
    'example.com:25',
    'ex ample.com',
    'ex%61mple.com',
    '*.example.com',
  );
  refused.push(
    'a.localhost',
    'mail.local',
    'x.invalid',
    '1.0.168.192.in-addr.arpa',
    `${'a.'.repeat(110)}com`,
    `${'a'.repeat(64)}.com`,
    'a.123',
    'a\0.com',
  );
  for (const text of refused) assert.ok('why' in readDomainName(text), text);

  assert.deepEqual(parentsOf('a.b.example.com'), ['b.example.com', 'example.com']);
  assert.deepEqual(parentsOf('example.com'), []);
  for (const host of ['127.0.0.1', 'localhost', '[::1]', 'mailhost'])
    assert.match(whyNotMailHost(host)!, /set QUARTERDECK_MAIL_HOST/, host);
  assert.equal(whyNotMailHost('mx.example.com'), undefined);
});
