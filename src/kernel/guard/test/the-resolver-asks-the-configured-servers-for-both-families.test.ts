import assert from 'node:assert/strict';
import test from 'node:test';
import { Stop } from '../../errors.ts';
import { dnsResolver, GuardRefusal, makeGuard } from '../index.ts';
import { recorder } from './internet.ts';
import { nameServer } from './name-server.ts';

const { signal } = new AbortController();

test('the resolver asks the configured servers for both families', async (t) => {
  const { address, asked } = await nameServer(t, { 'both.example.org': { A: ['8.8.8.8', '8.8.4.4'], AAAA: ['2606:4700::1111'] } });
  const answers = await dnsResolver([address]).resolve('both.example.org', { signal });
  assert.deepEqual(answers, [{ address: '8.8.8.8' }, { address: '8.8.4.4' }, { address: '2606:4700::1111' }]);
  assert.deepEqual(asked.sort(), ['A both.example.org', 'AAAA both.example.org']);
});

test('nothing is remembered between two lookups, so a monitor sees what is', async (t) => {
  const zone = { 'moving.example.org': { A: ['8.8.8.8'], AAAA: [] as string[] } };
  const { address } = await nameServer(t, zone);
  const resolver = dnsResolver([address]);
  assert.deepEqual(await resolver.resolve('moving.example.org', { signal }), [{ address: '8.8.8.8' }]);
  zone['moving.example.org'].A = ['8.8.4.4'];
  assert.deepEqual(await resolver.resolve('moving.example.org', { signal }), [{ address: '8.8.4.4' }]);
});

test('one family is enough', async (t) => {
  const { address } = await nameServer(t, {
    'four.example.org': { A: ['8.8.8.8'], AAAA: [] },
    'six.example.org': { A: [], AAAA: ['2606:4700::1111'] },
    'limping.example.org': { A: ['8.8.8.8'], AAAA: 'servfail' },
    'half-mute.example.org': { A: ['8.8.8.8'], AAAA: 'silence' },
  });
  const resolver = dnsResolver([address], { timeoutMs: 50, tries: 1 });
  assert.deepEqual(await resolver.resolve('four.example.org', { signal }), [{ address: '8.8.8.8' }]);
  assert.deepEqual(await resolver.resolve('six.example.org', { signal }), [{ address: '2606:4700::1111' }]);
  assert.deepEqual(await resolver.resolve('limping.example.org', { signal }), [{ address: '8.8.8.8' }]);
  assert.deepEqual(await resolver.resolve('half-mute.example.org', { signal }), [{ address: '8.8.8.8' }]);
});

test('each way of having no address has its own name', async (t) => {
  const { address } = await nameServer(t, {
    'empty.example.org': { A: [], AAAA: [] },
    'broken.example.org': { A: 'servfail', AAAA: 'servfail' },
    'unsure.example.org': { A: 'servfail', AAAA: [] },
    'mute.example.org': { A: 'silence', AAAA: 'silence' },
  });
  const resolver = dnsResolver([address], { timeoutMs: 50, tries: 1 });
  const kindOf = (host: string) => resolver.resolve(host, { signal }).catch(({ kind }) => kind);
  assert.equal(await kindOf('unknown.example.org'), 'dns_not_found');
  assert.equal(await kindOf('empty.example.org'), 'dns_not_found');
  assert.equal(await kindOf('broken.example.org'), 'dns_failure');
  assert.equal(await kindOf('unsure.example.org'), 'dns_failure');
  assert.equal(await kindOf('mute.example.org'), 'dns_timeout');
});

test('a guard with these servers judges what they say', async (t) => {
  const { address } = await nameServer(t, {
    'good.example.org': { A: ['8.8.8.8'], AAAA: [] },
    'mixed.example.org': { A: ['8.8.8.8'], AAAA: ['::1'] },
    'mapped.example.org': { A: [], AAAA: ['::ffff:169.254.169.254'] },
    'compatible.example.org': { A: [], AAAA: ['::8.8.8.8'] },
    'metadata.google.internal': { A: ['169.254.169.254'], AAAA: [] },
  });
  const { connector, reached } = recorder();
  const guard = makeGuard({ dnsServers: [address], connector });
  for (const name of ['mixed.example.org', 'mapped.example.org', 'compatible.example.org', 'metadata.google.internal']) {
    await assert.rejects(guard.fetch('webhook', `http://${name}/`), GuardRefusal, name);
  }
  assert.deepEqual(reached, []);
  await assert.rejects(guard.fetch('webhook', 'http://GOOD.example.org./'), { kind: 'connection_refused' });
  assert.deepEqual(reached, [{ address: '8.8.8.8', family: 4, port: 80 }]);
});

test('a name server that cannot be one stops the start', () => {
  for (const server of [
    'dns.example.org',
    'dns.example.org:53',
    '127.0.0.1:0',
    '127.0.0.1:65536',
    '127.0.0.1:x',
    '',
    '[::1',
    '[127.0.0.1]:53',
    '127.1:53',
  ]) {
    assert.throws(
      () => dnsResolver([server]),
      (error) => error instanceof Stop && /QUARTERDECK_DNS_SERVERS.*write it like/.test(error.message),
      server,
    );
  }
  dnsResolver(['127.0.0.1', '127.0.0.1:5353', '::1', '[::1]', '[::1]:5353']);
});
