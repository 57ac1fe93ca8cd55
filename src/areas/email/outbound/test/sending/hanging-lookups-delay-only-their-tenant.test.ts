import assert from 'node:assert/strict';
import test from 'node:test';
import { smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import type { Dns } from '../../../../../kernel/dns/index.ts';
import { currentContext } from '../../../../../kernel/fairness/index.ts';
import { makeRoutes } from '../../clients/mx.ts';
import { mailWorld, memoryDns, mx, outgoing } from './mail-world.ts';

const zone = { 'example.org': { MX: mx('mx.example.org') } };

test('lookups that hang do not delay lookups of other tenants', async (t) => {
  const sink = await smtpSink(t);
  const memory = memoryDns(zone);
  const over = Promise.withResolvers<void>();
  t.after(() => over.resolve());
  const lookup: Dns['lookup'] = async (name, type) => {
    if (name.endsWith('.hangs.example')) await over.promise;
    return memory.lookup(name, type);
  };
  const { sender } = mailWorld(t, sink.port, zone, { dns: { lookup, lookupAtSource: lookup } });
  const first = sender.send(outgoing('ada@0.hangs.example', { org: 'org_a' }));
  for (let n = 1; n < 1_000; n++) void sender.send(outgoing(`ada@${n}.hangs.example`, { org: 'org_a' }));
  const beyond = await sender.send(outgoing('ada@more.hangs.example', { org: 'org_a' }));
  assert.match(beyond.serverReply.response, /too many domains/);
  assert.equal((await sender.send(outgoing('bob@example.org', { org: 'org_b' }))).kind, 'delivered');
  over.resolve();
  assert.equal((await first).kind, 'bounced', 'none of them exists');
  assert.equal((await sender.send(outgoing('ada@example.org', { org: 'org_a' }))).kind, 'delivered', 'its lookups are over');
});

test('a DNS timeout of one organization does not affect others', async () => {
  const dns = memoryDns({ 'example.org': { MX: 'timeout' } });
  const { find, cached: known } = makeRoutes({ dns, now: () => 0 });
  const lost = find('example.org', 'org_a');
  Object.assign(dns, memoryDns(zone));
  const other = find('example.org', 'org_b');
  assert.deepEqual([(await lost)?.kind, (await other)?.kind], ['unknown', 'hosts']);
  assert.equal(known('example.org', 'org_a')?.kind, 'hosts', 'what one has found is there for all');
});

test('an organization over its lookup limit is told so, and not that the DNS is silent', async () => {
  const dns = memoryDns(zone);
  const lookup: Dns['lookup'] = async (name, type) => ({ ...(await dns.lookup(name, type)), outcome: 'timeout', isCrowded: true });
  const route = await makeRoutes({ dns: { lookup, lookupAtSource: lookup }, now: () => 0 }).find('example.org', 'org_a');
  assert.match(route?.kind === 'unknown' ? route.sentence : '', /example\.org .*this organization has asked/);
});

test('an organization over its lookup limit opens no session, and delays no other', async (t) => {
  const sink = await smtpSink(t);
  const memory = memoryDns({ 'example.org': { MX: mx('mx.example.org'), authentic: true } });
  let isCrowded = true;
  const lookup: Dns['lookup'] = async (name, type) => {
    const answer = await memory.lookup(name, type);
    const { org } = currentContext();
    if (type === 'TLSA') assert.match(org, /^org_/, 'it is asked in the name of one who has mail for it');
    return type === 'TLSA' && org === 'org_a' && isCrowded ? { ...answer, outcome: 'timeout', isCrowded: true } : answer;
  };
  const { sender } = mailWorld(t, sink.port, zone, { dns: { lookup, lookupAtSource: lookup } });
  const both = [outgoing('ada@example.org', { org: 'org_a' }), outgoing('bob@example.org', { org: 'org_b' })];
  const [held, sent] = await Promise.all(both.map((item) => sender.send(item)));
  assert.deepEqual([held!.kind, held!.serverReply.stage, sent!.kind], ['waits', 'here', 'delivered']);
  assert.match(held!.serverReply.response, /when a question of this organization’s is answered/);
  assert.equal(sender.backoffSeconds('example.org', 'org_b'), 0, 'nothing is held against the site');
  isCrowded = false;
  assert.equal((await sender.send(outgoing('ada@example.org', { org: 'org_a' }))).kind, 'delivered');
});
