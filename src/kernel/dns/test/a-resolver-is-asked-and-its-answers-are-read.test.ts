import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeDns } from '../../../../test/fakes/dns.ts';
import { makeDns } from '../index.ts';

test('a resolver is asked and its answers are read', async (t) => {
  const fake = await fakeDns(t, {
    'example.com': {
      MX: [
        { preference: 10, exchange: 'Mail.Example.com' },
        { preference: 20, exchange: 'b.example.com' },
      ],
      TXT: [['v=spf1 ', '-all'], 'x'.repeat(600)],
    },
    'mail.example.com': { A: ['192.0.2.1'], AAAA: ['2001:db8::1'] },
    '_25._tcp.mail.example.com': { TLSA: [{ usage: 3, selector: 1, matchingType: 1, certificate: Buffer.alloc(32, 7) }] },
    'broken.example.com': 'servfail',
    'unreadable.example.com': 'garbage',
  });
  fake.manner.ttl = 100_000;
  const dns = makeDns({ servers: [fake.address], attemptMs: 50 });

  const mx = await dns.lookup('EXAMPLE.com.', 'MX');
  assert.deepEqual(
    [mx.outcome, mx.records.map(({ data }) => data), mx.server, mx.ttl],
    [
      'found',
      [
        { preference: 10, exchange: 'mail.example.com' },
        { preference: 20, exchange: 'b.example.com' },
      ],
      fake.address,
      86_400,
    ],
  );
  const txt = await dns.lookup('example.com', 'TXT');
  assert.deepEqual(
    txt.records.map(({ data }) => data),
    ['v=spf1 -all', 'x'.repeat(600)],
    'the chunks of a text are one text',
  );
  assert.deepEqual((await dns.lookup('mail.example.com', 'AAAA')).records[0]?.data, '2001:db8::1');
  const tlsa = await dns.lookup('_25._tcp.mail.example.com', 'TLSA');
  assert.deepEqual(tlsa.records[0]?.data, { usage: 3, selector: 1, matchingType: 1, certificate: Buffer.alloc(32, 7) });

  assert.equal((await dns.lookup('mail.example.com', 'MX')).outcome, 'nodata');
  assert.equal((await dns.lookup('nobody.example.com', 'MX')).outcome, 'nxdomain');
  assert.equal((await dns.lookup('_tcp.mail.example.com', 'TXT')).outcome, 'nodata', 'a name above another one exists');
  assert.equal((await dns.lookup('broken.example.com', 'MX')).outcome, 'servfail');
  assert.equal((await dns.lookup('unreadable.example.com', 'MX')).outcome, 'timeout', 'what cannot be read is no answer');
  const before = fake.asked.length;
  for (const name of ['', '.', 'a..b', `${'x'.repeat(64)}.com`, `${'x.'.repeat(140)}com`, 'ä.com', 'a b.com'])
    assert.equal((await dns.lookup(name, 'A')).outcome, 'nxdomain', name);
  assert.equal(fake.asked.length, before, 'what is no name is not asked for');
});

test('what does not fit is asked for again by TCP', async (t) => {
  const texts = Array.from({ length: 20 }, (_, i) => `${i} ${'y'.repeat(300)}`);
  const fake = await fakeDns(t, { 'big.example.com': { TXT: texts } });
  const found = await makeDns({ servers: [fake.address] }).lookup('big.example.com', 'TXT');
  assert.deepEqual(
    found.records.map(({ data }) => data),
    texts,
  );
  assert.deepEqual(fake.asked, ['udp TXT big.example.com', 'tcp TXT big.example.com']);
});

test('a server that knows no EDNS is asked without it', async (t) => {
  const fake = await fakeDns(t, { 'old.example.com': { A: ['192.0.2.1'] } });
  fake.manner.withoutEdns = true;
  assert.equal((await makeDns({ servers: [fake.address] }).lookup('old.example.com', 'A')).outcome, 'found');
});
