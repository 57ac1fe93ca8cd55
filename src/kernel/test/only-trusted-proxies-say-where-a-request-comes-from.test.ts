import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { makePeers } from '../http/peer.ts';

const request = (remoteAddress: string | undefined, forwarded?: string, more: Record<string, string> = {}, encrypted?: boolean) =>
  ({
    socket: { remoteAddress, encrypted },
    headers: { ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }), ...more },
  }) as unknown as IncomingMessage;

const direct = makePeers([]);
const behind = makePeers(['10.0.0.0/8', '2001:db8:ffff::/48']);

test('only trusted proxies say where a request comes from', () => {
  assert.equal(direct.of(request('203.0.113.9', '198.51.100.1')), '203.0.113.9');
  assert.equal(behind.of(request('203.0.113.9', '198.51.100.1')), '203.0.113.9', 'a header of an untrusted client');
  assert.equal(behind.of(request('10.0.0.1', '198.51.100.1')), '198.51.100.1');
  assert.equal(
    behind.of(request('10.0.0.1', '1.2.3.4, 198.51.100.1, 10.0.0.2')),
    '198.51.100.1',
    'what the client wrote before it does not count',
  );
  assert.equal(behind.of(request('10.0.0.1')), '10.0.0.1');
  assert.equal(behind.of(request('::ffff:10.0.0.1', '198.51.100.1')), '198.51.100.1');
  assert.equal(behind.of(request('2001:db8:ffff::1', '198.51.100.1')), '198.51.100.1');
  assert.equal(direct.of(request(undefined)), '', 'a unix socket is a place too');
});

test('an address is read in every form that proxies write, and nothing else is one', () => {
  const said = (hop: string) => behind.of(request('10.0.0.1', hop));
  assert.equal(said('198.51.100.1:4711'), '198.51.100.1');
  assert.equal(said('"198.51.100.1:4711"'), '198.51.100.1');
  assert.equal(said('::ffff:198.51.100.1'), '198.51.100.1');
  assert.equal(said('[::ffff:c633:6401]:4711'), '198.51.100.1');
  assert.equal(said('[2001:db8::1]:4711'), said('2001:db8::1'));
  assert.equal(said('[2001:db8::1]'), said('2001:db8:0:0:ffff::'));
  for (const hop of ['unknown', '_hidden', 'x', '', '1', '0x7f.1', '198.51.100.256', '198.51.100.1:x', '[2001:db8::1', '198.51.100.1 x'])
    assert.equal(said(hop), '10.0.0.1', `${hop} is reported by its sender`);
  assert.equal(said('198.51.100.1, made up'), '10.0.0.1', 'and whatever it said before is not heard');
  assert.equal(said('made up, 10.0.0.2'), '10.0.0.2');
});

test('one site of IPv6 is one place: a /48 has one share, not 65,536', () => {
  assert.equal(direct.of(request('2001:db8:1:2::7')), direct.of(request('2001:db8:1:2:ffff::9')));
  const shares = new Set(Array.from({ length: 256 }, (_, n) => direct.of(request(`2001:db8:1:${(n * 257).toString(16)}::7`))));
  assert.equal(shares.size, 1);
  assert.equal(direct.of(request('2001:db8:1:2::7')), '2001:db8:1::/48');
  assert.equal(behind.of(request('10.0.0.1', '2001:db8:1:2::7')), '2001:db8:1::/48');
  assert.notEqual(direct.of(request('2001:db8:1:2::7')), direct.of(request('2001:db8:2:2::7')));
  assert.equal(direct.of(request('fe80::1%eth0')), direct.of(request('fe80::2')));
  assert.equal(direct.of(request('::ffff:203.0.113.9')), '203.0.113.9');
});

test('a chain without an end is not followed', () => {
  const chain = (hops: number) => `198.51.100.1, ${Array.from({ length: hops }, () => '10.0.0.2').join(', ')}`;
  assert.equal(behind.of(request('10.0.0.1', chain(10))), '198.51.100.1');
  assert.equal(behind.of(request('10.0.0.1', chain(2_000))), '10.0.0.2');
});

test('TLS is what we see ourselves, or what a trusted proxy says last', () => {
  const proto = (value: string) => ({ 'x-forwarded-proto': value });
  assert.equal(direct.isSecure(request('203.0.113.9')), false);
  assert.equal(direct.isSecure(request('203.0.113.9', undefined, {}, true)), true);
  assert.equal(direct.isSecure(request('203.0.113.9', undefined, proto('https'))), false);
  assert.equal(behind.isSecure(request('203.0.113.9', undefined, proto('https'))), false);
  assert.equal(behind.isSecure(request('10.0.0.1', undefined, proto('https'))), true);
  assert.equal(behind.isSecure(request('10.0.0.1', undefined, proto('https, http'))), false);
  assert.deepEqual(
    [behind.isProxied(request('10.0.0.1')), behind.isProxied(request('203.0.113.9')), direct.isProxied(request('10.0.0.1'))],
    [true, false, false],
  );
});
