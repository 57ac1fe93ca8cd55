import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeDns } from '../../../../test/fakes/dns.ts';
import { makeDnsCache } from '../cache.ts';
import { type DnsAnswer, makeDns } from '../index.ts';

test('answers are remembered as long as they hold, also that there is nothing', async (t) => {
  const fake = await fakeDns(t, { 'example.com': { A: ['192.0.2.1'] }, 'broken.example.com': 'servfail' });
  Object.assign(fake.manner, { ttl: 600, absentTtl: 600 });
  const dns = makeDns({ servers: [fake.address] });
  await Promise.all(Array.from({ length: 20 }, () => dns.lookup('example.com', 'A')));
  assert.equal(fake.asked.length, 1, 'who asks the same at the same time waits for the same answer');
  assert.equal((await dns.lookup('Example.com', 'A')).records[0]?.data, '192.0.2.1');
  const absent = await dns.lookup('nobody.example.com', 'A');
  await dns.lookup('nobody.example.com', 'A');
  assert.deepEqual([absent.outcome, absent.ttl, fake.asked.length], ['nxdomain', 600, 2]);

  await dns.lookup('broken.example.com', 'A');
  fake.zone['broken.example.com'] = { A: ['192.0.2.2'] };
  assert.equal((await dns.lookup('broken.example.com', 'A')).outcome, 'found', 'a failure is not remembered');
});

test('what is remembered is counted as large as it is', async () => {
  const remember = makeDnsCache();
  const large = (name: string): DnsAnswer => {
    const data = { usage: 3, selector: 0, matchingType: 0, certificate: Buffer.alloc(60_000) };
    const records = [{ type: 'TLSA' as const, name, ttl: 3_600, data }];
    return { outcome: 'found', records, aliases: [], ttl: 3_600, authentic: true, server: '' };
  };
  let asked = 0;
  const ask = (name: string) => remember(name, async () => large(`${name}${++asked}`));
  for (let at = 0; at < 400; at++) await ask(`host${at}`);
  await ask('host399');
  assert.equal(asked, 400);
  await ask('host0');
  assert.equal(asked, 401, 'the oldest made room for others');
});

test('what holds for no time is asked for again', async (t) => {
  const fake = await fakeDns(t, { 'example.com': { A: ['192.0.2.1'] } });
  const dns = makeDns({ servers: [fake.address] });
  await dns.lookup('example.com', 'A');
  await dns.lookup('example.com', 'A');
  assert.equal(fake.asked.length, 2);
});
