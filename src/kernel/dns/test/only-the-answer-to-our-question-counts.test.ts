import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeDns } from '../../../../test/fakes/dns.ts';
import { makeDns } from '../index.ts';

test('only the answer to our question counts', async (t) => {
  const fake = await fakeDns(t, { 'example.com': { A: ['192.0.2.1'] } });
  const dns = makeDns({ servers: [fake.address], attemptMs: 100 });
  fake.manner.strangers = { id: 3, name: 3 };
  assert.equal((await dns.lookup('example.com', 'A')).outcome, 'found', 'answers with another id or name are passed over');

  fake.manner.strangers = { id: 40, name: 0 };
  assert.equal((await dns.lookup('example.com', 'A')).outcome, 'timeout', 'after that many spoofed replies the query is given up');
});

test('a resolver that is silent or broken is passed over, and a dead one does not hold anybody up', async (t) => {
  const silent = await fakeDns(t, { 'example.com': 'silence' });
  const broken = await fakeDns(t, { 'example.com': 'refused' });
  const good = await fakeDns(t, { 'example.com': { A: ['192.0.2.1'] } });
  const found = await makeDns({ servers: [silent.address, broken.address, good.address], attemptMs: 50 }).lookup('example.com', 'A');
  assert.deepEqual([found.outcome, found.server], ['found', good.address]);

  const failed = await makeDns({ servers: [silent.address, broken.address], attemptMs: 50 }).lookup('example.com', 'A');
  assert.deepEqual([failed.outcome, silent.asked.length, broken.asked.length], ['servfail', 3, 3], 'two tries each');
  assert.equal((await makeDns({ servers: [silent.address], attemptMs: 50 }).lookup('example.com', 'A')).outcome, 'timeout');
  const stopped = new AbortController();
  const asked = makeDns({ servers: [silent.address] }).lookup('example.com', 'A', { signal: stopped.signal });
  stopped.abort(new Error('enough'));
  await assert.rejects(asked, /enough/);
});

test('the flag of DNSSEC counts only from resolvers that the operator named', async (t) => {
  const fake = await fakeDns(t, { 'a.example.com': { CNAME: ['b.example.com'] }, 'b.example.com': { A: ['192.0.2.1'] } });
  const dns = makeDns({ servers: [fake.address] });
  assert.equal((await dns.lookup('a.example.com', 'A')).authentic, false);
  fake.manner.authentic = true;
  assert.equal((await dns.lookup('a.example.com', 'A')).authentic, true);
  assert.equal((await dns.lookupAtSource('a.example.com', 'A')).authentic, true, 'through the resolver, since the zone has no servers');
});
