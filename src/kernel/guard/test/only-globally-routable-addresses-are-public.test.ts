import assert from 'node:assert/strict';
import test from 'node:test';
import { decide, parseAllow } from '../index.ts';
import { forbiddenV4, forbiddenV6 } from './spellings.ts';

const nothing = parseAllow('');

const publicOnes = [
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
  ...['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.167.255.255', '192.169.0.0', '198.17.255.255'],
  ...['198.20.0.0', '203.0.112.255', '203.0.114.0', '223.255.255.255', '2001:200::1', '2001:4860:4860::8888', '2003::1', '2606:4700::1111'],
  ...['2a00:1450::1', '2620:4f:8001::1', '3000::1', '3fff:1000::1'],
];

test('only globally routable addresses are public', () => {
  for (const text of publicOnes) assert.deepEqual({ text, allowed: decide(nothing, 'uptime', text).allowed }, { text, allowed: true });
  for (const text of [...forbiddenV4, ...forbiddenV6]) {
    assert.deepEqual({ text, allowed: decide(nothing, 'uptime', text).allowed }, { text, allowed: false });
  }
});

test('what is not a whole address is not judged as one', () => {
  for (const text of [
    '',
    '127.1',
    '0177.0.0.1',
    '08.8.8.8',
    '8.8.8.8 ',
    '8.8.8.8/32',
    'fe80::1%eth0',
    '2606:4700::1111%1',
    'example.org',
    '[::1]',
  ]) {
    assert.deepEqual(decide(nothing, 'uptime', text), { allowed: false, class: 'unreadable' });
  }
});

test('a refusal knows the class of the address', () => {
  const classes: Record<string, string> = {
    '127.0.0.1': 'loopback',
    '10.1.2.3': 'private',
    '100.64.0.1': 'carrier-grade NAT',
    '169.254.1.1': 'link-local',
    '169.254.169.254': 'metadata',
    '100.100.100.200': 'metadata',
    'fd00:ec2::254': 'metadata',
    '168.63.129.16': 'metadata',
    '0.1.2.3': 'unspecified',
    '192.0.2.9': 'documentation',
    '198.18.0.1': 'benchmarking',
    '224.0.0.251': 'multicast',
    '255.255.255.255': 'broadcast',
    '240.0.0.1': 'special-purpose',
    '::ffff:192.168.0.1': 'private',
    '::192.168.0.1': 'IPv4-compatible',
    '::ffff:0:192.168.0.1': 'IPv4-translated',
    '64:ff9b::8.8.8.8': 'NAT64',
    '2002:7f00:1::': '6to4',
    '2001:0:1::': 'Teredo',
    '2001:20::1': 'ORCHID',
    '100::1': 'discard',
    'fec0::1': 'site-local',
    'fd12::1': 'unique-local',
    '2a00::5efe:10.0.0.1': 'ISATAP',
    '4000::1': 'unassigned',
  };
  for (const [text, found] of Object.entries(classes)) {
    assert.deepEqual({ text, ...decide(nothing, 'uptime', text) }, { text, allowed: false, class: found });
  }
});
