import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeDns } from '../../../../test/fakes/dns.ts';
import { makeDns } from '../index.ts';

test('aliases are followed to an end', async (t) => {
  const chain = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`c${i}.example.com`, { CNAME: [`c${i + 1}.example.com`] }]));
  const fake = await fakeDns(t, {
    ...chain,
    'c12.example.com': { A: ['192.0.2.1'] },
    'round.example.com': { CNAME: ['and-round.example.com'] },
    'and-round.example.com': { CNAME: ['round.example.com'] },
    'lost.example.com': { CNAME: ['nowhere.example.com'] },
  });
  const dns = makeDns({ servers: [fake.address] });
  const found = await dns.lookup('c8.example.com', 'A');
  assert.deepEqual([found.outcome, found.aliases], ['found', ['c9.example.com', 'c10.example.com', 'c11.example.com', 'c12.example.com']]);
  assert.equal((await dns.lookup('c0.example.com', 'A')).outcome, 'servfail', 'twelve are more than anybody follows');
  assert.equal((await dns.lookup('round.example.com', 'A')).outcome, 'servfail');
  assert.equal((await dns.lookup('round.example.com', 'CNAME')).outcome, 'found', 'asked for itself, an alias is not followed');
  const lost = await dns.lookup('lost.example.com', 'A');
  assert.deepEqual([lost.outcome, lost.aliases], ['nxdomain', ['nowhere.example.com']]);
});
