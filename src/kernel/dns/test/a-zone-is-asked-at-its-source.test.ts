import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeDns } from '../../../../test/fakes/dns.ts';
import { parseAllow } from '../../guard/index.ts';
import { makeDns } from '../index.ts';

const delegation = { 'example.com': { NS: ['ns.example.com'] }, 'ns.example.com': { A: ['127.0.0.1'] } };
const name = 'key._domainkey.mail.example.com';

test('a zone is queried at its own name servers, so that no cache delays the answer', async (t) => {
  const resolver = await fakeDns(t, { ...delegation, [name]: { TXT: ['old'] } });
  const source = await fakeDns(t, { 'example.com': {}, [name]: { TXT: ['new'] } });
  Object.assign(resolver.manner, { ttl: 600, absentTtl: 600 });
  const dns = makeDns({ servers: [resolver.address], allow: parseAllow('dns=127.0.0.0/8'), sourcePort: source.port });

  const found = await dns.lookupAtSource(name, 'TXT');
  assert.deepEqual([found.records[0]?.data, found.server, found.authentic], ['new', '127.0.0.1', false]);
  assert.equal((await dns.lookupAtSource('gone.example.com', 'TXT')).outcome, 'nxdomain');
  delete source.zone[name];
  assert.equal((await dns.lookupAtSource(name, 'TXT')).outcome, 'nxdomain', 'it is asked anew each time');
  assert.deepEqual(
    source.asked.map((asked) => asked.split(' ')[2]),
    [name, 'gone.example.com', name],
  );

  source.zone[name] = { CNAME: ['elsewhere.example.net'] };
  resolver.zone[name] = { CNAME: ['elsewhere.example.net'] };
  resolver.zone['elsewhere.example.net'] = { TXT: ['behind an alias'] };
  assert.equal((await dns.lookupAtSource(name, 'TXT')).records[0]?.data, 'behind an alias', 'the resolver knows other zones');
});

test('whatever is odd about a source, the resolver answers', async (t) => {
  const resolver = await fakeDns(t, { ...delegation, [name]: { TXT: ['by the resolver'] } });
  const source = await fakeDns(t, { 'example.com': {}, [name]: { TXT: ['by the source'] } });
  const at = (sourcePort: number, allow = '127.0.0.0/8') =>
    makeDns({ servers: [resolver.address], allow: parseAllow(allow), sourcePort }).lookupAtSource(name, 'TXT');
  const says = async (asked: ReturnType<typeof at>) => (await asked).records[0]?.data;
  assert.equal(await says(at(source.port)), 'by the source');

  const before = source.asked.length;
  assert.equal(await says(at(source.port, 'uptime=127.0.0.0/8')), 'by the resolver', 'private addresses are not asked');
  assert.equal(source.asked.length, before);
  source.manner.authoritative = false;
  assert.equal(await says(at(source.port)), 'by the resolver', 'a server that does not have the zone');
  source.manner.authoritative = undefined;
  source.zone[name] = 'refused';
  assert.equal(await says(at(source.port)), 'by the resolver');
  resolver.zone['ns.example.com'] = 'servfail';
  assert.equal(await says(at(source.port)), 'by the resolver', 'name servers without addresses');
});
