import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fakeDns } from '../../../../test/fakes/dns.ts';
import { runFor } from '../../fairness/index.ts';
import { type DnsAnswer, makeDns } from '../index.ts';

test('an organization that has used up its questions keeps no answer from another that asks the same', async (t) => {
  const fake = await fakeDns(t, { 'example.com': { MX: [{ preference: 10, exchange: 'mx.example.com' }] } });
  const dns = makeDns({ servers: [fake.address], timeoutMs: 1_000 });
  const ask = (org: string, name: string) => runFor({ org, operation: 'test' }, () => dns.lookup(name, 'MX'));
  // As many as it may have in flight, at name servers that do not answer.
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
  const dns = makeDns({ servers: [fake.address], timeoutMs: 300 });
  const ask = (org: string, name: string, atOnce = false) => runFor({ org, operation: 'test' }, () => dns.lookup(name, 'MX', { atOnce }));
  const silent = Array.from({ length: 129 }, (_, at) => `silent${at}.example`);
  for (const name of silent) fake.zone[name] = 'silence';
  const waiting = silent.slice(1).map((name) => ask('org_a', name));
  const crowded = { outcome: 'timeout', isCrowded: true };
  const told = ({ outcome, isCrowded }: DnsAnswer) => ({ outcome, isCrowded });
  let over = 0;
  for (const one of waiting) void one.then(() => over++);
  assert.deepEqual(told(await ask('org_a', 'example.com', true)), crowded);
  assert.equal(over, 0, 'none of them was waited for');
  await sleep(20);
  // Its turn comes when no time is left for it.
  assert.deepEqual(told(await ask('org_a', silent[0]!)), crowded);
  const other = await ask('org_b', silent[0]!);
  assert.deepEqual([other.outcome, other.isCrowded], ['timeout', undefined], 'this query was sent, and timed out');
  await Promise.all(waiting);
});
