import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { peerOf } from '../http/peer.ts';

const request = (remoteAddress: string, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

test('only trusted proxies say where a request comes from', () => {
  const direct = peerOf([]);
  assert.equal(direct(request('203.0.113.9', '198.51.100.1')), '203.0.113.9');
  const behind = peerOf(['10.0.0.0/8']);
  assert.equal(behind(request('203.0.113.9', '198.51.100.1')), '203.0.113.9', 'a stranger’s word');
  assert.equal(behind(request('10.0.0.1', '198.51.100.1')), '198.51.100.1');
  assert.equal(
    behind(request('10.0.0.1', '1.2.3.4, 198.51.100.1, 10.0.0.2')),
    '198.51.100.1',
    'what the client wrote before it does not count',
  );
  assert.equal(behind(request('10.0.0.1')), '10.0.0.1');
  assert.equal(behind(request('::ffff:10.0.0.1', '198.51.100.1')), '198.51.100.1');
  assert.equal(direct(request('2001:db8:1:2::7')), direct(request('2001:db8:1:2:ffff::9')), 'one line of IPv6 is one place');
  assert.notEqual(direct(request('2001:db8:1:2::7')), direct(request('2001:db8:1:3::7')));
});
