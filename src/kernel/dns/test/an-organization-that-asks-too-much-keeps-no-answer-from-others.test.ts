import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeDns } from '../../../../test/fakes/dns.ts';
import { onBehalf } from '../../shares/index.ts';
import { makeDns } from '../index.ts';

test('an organization that has used up its questions keeps no answer from another that asks the same', async (t) => {
  const fake = await fakeDns(t, { 'example.com': { MX: [{ preference: 10, exchange: 'mx.example.com' }] } });
  const dns = makeDns({ servers: [fake.address], mostMs: 1_000 });
  const ask = (org: string, name: string) => onBehalf({ org, act: 'test' }, () => dns.lookup(name, 'MX'));
  // As many as it may have under way, at name servers that say nothing.
  const silent = Array.from({ length: 128 }, (_, at) => `silent${at}.example`);
  for (const name of silent) fake.zone[name] = 'silence';
  const waiting = silent.map((name) => ask('org_a', name));
  waiting.push(ask('org_a', 'example.com'));
  assert.equal((await ask('org_b', 'example.com')).outcome, 'found');
  assert.equal(fake.asked.filter((question) => question === 'udp MX example.com').length, 1, 'that of the first waits behind its own');
  await Promise.all(waiting);
});

test('a question that never left says so, and nothing of the name', async (t) => {
  const fake = await fakeDns(t, {});
  const dns = makeDns({ servers: [fake.address], mostMs: 200 });
  const ask = (org: string, name: string) => onBehalf({ org, act: 'test' }, () => dns.lookup(name, 'MX'));
  const silent = Array.from({ length: 128 + 2_000 }, (_, at) => `silent${at}.example`);
  for (const name of silent) fake.zone[name] = 'silence';
  const waiting = silent.map((name) => ask('org_a', name));
  const { outcome, isCrowded } = await ask('org_a', 'example.com');
  assert.deepEqual({ outcome, isCrowded }, { outcome: 'timeout', isCrowded: true });
  const other = await ask('org_b', silent[0]!);
  assert.deepEqual([other.outcome, other.isCrowded], ['timeout', undefined], 'this one was asked, and nobody answered');
  await Promise.all(waiting);
});
