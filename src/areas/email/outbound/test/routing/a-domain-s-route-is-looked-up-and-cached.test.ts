import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import { byPreference, type MxHost, makeRoutes, siteKey } from '../../clients/mx.ts';
import { mailWorld, memoryDns, mx, outgoing, stoppedClock } from '../sending/mail-world.ts';

test('a route is MX hosts, the domain’s own address, none, or unknown', async () => {
  const dns = memoryDns({
    'mx.example': { MX: mx([20, 'b.example'], [10, 'A.example.']), authentic: true },
    'alone.example': { A: ['192.0.2.1'] },
    'six.example': { AAAA: ['2001:db8::1'] },
    'null.example': { MX: mx([0, '.']) },
    'nothing.example': {},
    'failing.example': { MX: 'servfail' },
    'slow.example': { A: 'timeout' },
  });
  const routes = makeRoutes({ dns, now: () => 0 });
  const find = async (domain: string) => (await routes.find(domain, 'org_a'))!;
  assert.deepEqual(await find('mx.example'), {
    kind: 'hosts',
    hosts: [
      { name: 'a.example', preference: 10 },
      { name: 'b.example', preference: 20 },
    ],
    authentic: true,
  });
  for (const domain of ['alone.example', 'six.example']) {
    assert.deepEqual(await find(domain), { kind: 'hosts', hosts: [{ name: domain, preference: 0 }], authentic: false });
  }
  assert.deepEqual(await find('null.example'), { kind: 'none', sentence: 'the domain null.example says that it takes no mail (null MX)' });
  assert.deepEqual(await find('absent.example'), { kind: 'none', sentence: 'the domain absent.example does not exist' });
  assert.equal((await find('nothing.example')).kind, 'none');
  assert.equal((await find('failing.example')).kind, 'unknown');
  assert.equal((await find('slow.example')).kind, 'unknown', 'one address that was not asked for proves nothing');
});

test('routes are cached for their TTL, from a minute to an hour; concurrent lookups share one question', async () => {
  const zone = {
    'short.example': { MX: mx('a.example'), ttl: 0 },
    'long.example': { MX: mx('a.example'), ttl: 1e6 },
    'bad.example': { MX: 'servfail' as const },
  };
  const dns = memoryDns(zone);
  const clock = stoppedClock();
  const routes = makeRoutes({ dns, now: clock.now });
  const find = (domain: string) => routes.find(domain, 'org_a');
  const known = (domain: string) => routes.cached(domain, 'org_a');
  await Promise.all([find('short.example'), find('short.example'), find('long.example'), find('bad.example')]);
  assert.equal(dns.asked.length, 3);
  clock.advance(31_000);
  assert.deepEqual([known('short.example')?.kind, known('long.example')?.kind, known('bad.example')], ['hosts', 'hosts', undefined]);
  clock.advance(30_000);
  assert.deepEqual([known('short.example'), known('long.example')?.kind], [undefined, 'hosts']);
  clock.advance(3_600_000);
  assert.equal(known('long.example'), undefined);
});

test('an unknown MTA-STS policy is cached for a minute, for the organization that asked', async () => {
  const dns = memoryDns({ 'mx.example': { MX: mx('a.example'), ttl: 3_600 } });
  const clock = stoppedClock();
  const answers = [
    { policy: undefined, isKnown: false },
    { policy: { mx: ['a.example'] }, isKnown: true },
  ];
  const policyOf = async () => answers.shift()!;
  const routes = makeRoutes({ dns, now: clock.now, policyOf });
  const enforcedFor = (org: string) => {
    const route = routes.cached('mx.example', org);
    return route?.kind === 'hosts' ? (route.enforced ?? 'nothing') : 'not known';
  };
  await routes.find('mx.example', 'org_a');
  assert.deepEqual([enforcedFor('org_a'), enforcedFor('org_b')], ['nothing', 'not known']);
  clock.advance(60_000);
  assert.equal(enforcedFor('org_a'), 'not known');
  await routes.find('mx.example', 'org_b');
  assert.deepEqual([enforcedFor('org_a'), enforcedFor('org_b')], [['a.example'], ['a.example']]);
});

test('mail waits while its organization has no DNS questions left to ask for a policy', async () => {
  const dns = memoryDns({ 'mx.example': { MX: mx('a.example'), ttl: 3_600 } });
  const clock = stoppedClock();
  const answers = [
    { policy: undefined, isKnown: false, isCrowded: true as const },
    { policy: undefined, isKnown: true },
  ];
  const routes = makeRoutes({ dns, now: clock.now, policyOf: async () => answers.shift()! });
  assert.equal((await routes.find('mx.example', 'org_a'))?.kind, 'unknown');
  assert.equal((await routes.find('mx.example', 'org_b'))?.kind, 'hosts', 'other organizations are not affected');
});

test('hosts are ordered by preference, equals at random, and the site key keeps that order', () => {
  const host = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), preference: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(host), fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (hosts, random) => {
      const ordered = byPreference(hosts, () => random.next().value as number);
      assert.deepEqual(
        ordered.map(({ preference }) => preference),
        hosts.map(({ preference }) => preference).sort(),
      );
      const keyOf = (of: MxHost[]) => siteKey({ kind: 'hosts', hosts: of, authentic: false });
      assert.equal(keyOf(ordered), keyOf(hosts));
    }),
  );
  const named = (...of: [number, string][]) =>
    siteKey({ kind: 'hosts', hosts: of.map(([preference, name]) => ({ preference, name })), authentic: false });
  assert.equal(named([10, 'a'], [20, 'b']), named([7, 'b'], [1, 'a']), 'the preference numbers do not matter');
  assert.notEqual(named([10, 'a'], [20, 'b']), named([20, 'a'], [10, 'b']));
  assert.notEqual(named([10, 'a'], [20, 'b']), named([10, 'a'], [10, 'b']));
  assert.equal(named([10, 'a'], [20, 'b'], [30, 'a']), named([10, 'a'], [20, 'b']), 'a host counts at its best preference');
  assert.notEqual(named([10, 'a'], [20, 'b']), named([10, 'a'], [10, 'then:'], [10, 'b']), 'a host name cannot forge a separator');
  const hosts = ['a', 'b', 'c', 'd'].map((name) => ({ name, preference: 1 }));
  assert.equal(new Set(Array.from({ length: 100 }, () => byPreference(hosts, Math.random)[0]!.name)).size, 4);
});

test('a domain without mail servers bounces hard, a failed lookup waits, and a private mail server is refused for good', async (t) => {
  const sink = await smtpSink(t);
  const zone = {
    'null.example': { MX: mx('.') },
    'failing.example': { MX: 'servfail' as const },
    'inside.example': { MX: mx('mx.inside.example') },
  };
  const { sender } = mailWorld(t, sink.port, zone, { addresses: { 'mx.inside.example': ['10.1.2.3'] } });
  const none = await sender.send(outgoing('a@null.example'));
  assert.deepEqual(
    [none.kind, (none as { bounceType: string }).bounceType, (none as { class: string }).class],
    ['bounced', 'hard', 'BadDomain'],
  );
  const absent = await sender.send(outgoing('a@absent.example'));
  assert.equal((absent as { bounceType: string }).bounceType, 'hard');
  const later = await sender.send(outgoing('a@failing.example'));
  assert.ok(later.kind === 'waits' && later.afterSeconds >= 60);
  const inside = await sender.send(outgoing('a@inside.example'));
  assert.ok(inside.kind === 'bounced' && inside.bounceType === 'block' && inside.class === 'BadDomain');
  assert.match(inside.serverReply.response, /not public/);
  assert.doesNotMatch(inside.serverReply.response, /10\.1\.2\.3/);
  assert.equal(sender.backoffSeconds('inside.example', 'org_a'), 0);
});
