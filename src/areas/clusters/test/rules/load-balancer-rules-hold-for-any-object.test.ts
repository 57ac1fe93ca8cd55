import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { refusePool } from '../../rules/address-pool.ts';
import {
  chooseServices,
  makeSourceFilter,
  type NodeState,
  nodesOfSlices,
  ownClass,
  readNode,
  readService,
  targetsOf,
} from '../../rules/load-balancer.ts';
import { proxyHeader } from '../../rules/proxy-header.ts';

const service = (spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) => ({
  metadata: { uid: 'u1', namespace: 'default', name: 'web', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  spec: { type: 'LoadBalancer', ports: [{ protocol: 'TCP', port: 80, nodePort: 30_080 }], ...spec },
});
const refusalOf = (object: unknown) => readService(object)?.refusal?.message ?? '';

test('a Service of any shape is read or refused, never thrown at', () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.anything(), (spec, metadata, status) => {
      readService({ spec, metadata, status });
      readService({ ...service(), spec: { ...(spec as object), type: 'LoadBalancer' }, status });
      readNode({ metadata, spec, status });
      nodesOfSlices([{ endpoints: spec }, metadata]);
    }),
  );
});

test('Services of others are left alone, and what cannot be served is refused with a sentence', () => {
  for (const none of [
    service({ type: 'ClusterIP' }),
    service({ loadBalancerClass: 'example.com/other' }),
    service({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    service({}, { name: '../secrets' }),
  ])
    assert.equal(readService(none), undefined);
  assert.ok(readService(service({ loadBalancerClass: ownClass })));
  assert.equal(refusalOf(service()), '');
  assert.match(refusalOf(service({ ports: [{ protocol: 'UDP', port: 53, nodePort: 30_053 }] })), /carry TCP.*UDP/);
  assert.match(refusalOf(service({ ports: [] })), /no ports/);
  // Without a node port, and with one that belongs to another program of the node's machine.
  for (const nodePort of [undefined, 22, 5_432, 29_999, 32_768])
    assert.match(refusalOf(service({ ports: [{ port: 80, nodePort }] })), /node port between 30000 and 32767/);
  assert.match(
    refusalOf(service({ ports: Array.from({ length: 17 }, (_, n) => ({ port: n + 1, nodePort: 30_000 + n })) })),
    /more than 16 ports/,
  );
  for (const range of ['10.0.0.0', '10.0.0.0/33', 'x/8', '::/129'])
    assert.match(refusalOf(service({ loadBalancerSourceRanges: [range] })), /no network/);
  assert.match(refusalOf(service({ loadBalancerIP: '::1' })), /no IPv4 address/);
  assert.match(refusalOf(service({}, { annotations: { 'quarterdeck/proxy-protocol': 'v3' } })), /may be v1 or v2/);
});

test('source ranges admit the clients inside them and no others', () => {
  assert.ok(makeSourceFilter([])('203.0.113.9'));
  const isAllowed = makeSourceFilter(['203.0.113.0/29', '2001:db8::/64']);
  for (const client of ['203.0.113.7', '::ffff:203.0.113.1', '2001:db8::5']) assert.ok(isAllowed(client), client);
  for (const client of ['203.0.113.8', '2001:db8:1::5', '', 'x']) assert.ok(!isAllowed(client), client);
});

test('Services with an address keep it, the oldest come next, and a tier’s number is never exceeded', () => {
  const services = fc.uniqueArray(
    fc.record({ uid: fc.string({ minLength: 1, maxLength: 4 }), createdAt: fc.constantFrom('1', '2', '3') }),
    {
      selector: ({ uid }) => uid,
    },
  );
  fc.assert(
    fc.property(services, fc.nat(5), fc.infiniteStream(fc.boolean()), (all, max, flags) => {
      const holding = new Set(all.filter(() => flags.next().value).map(({ uid }) => uid));
      const { served, beyond } = chooseServices(all, holding, max);
      assert.equal(served.length, Math.min(max, all.length));
      assert.equal(served.length + beyond.length, all.length);
      assert.ok(!beyond.some(({ uid }) => holding.has(uid)) || served.every(({ uid }) => holding.has(uid)));
      const newcomers = served.filter(({ uid }) => !holding.has(uid));
      for (const waiting of beyond)
        if (!holding.has(waiting.uid)) assert.ok(newcomers.every(({ createdAt }) => createdAt <= waiting.createdAt));
    }),
  );
});

test('a Service’s nodes are ready ones, at most 32, and hardly change when a node goes', () => {
  const nodes: NodeState[] = Array.from({ length: 200 }, (_, n) => ({
    name: `node-${n}`,
    ready: n % 10 !== 0,
    isExcluded: n % 11 === 0,
    address: n % 13 === 0 ? undefined : `10.0.${n}.1`,
  }));
  fc.assert(
    fc.property(fc.uuid(), (uid) => {
      const chosen = targetsOf(uid, nodes, undefined);
      assert.equal(chosen.length, 32);
      const names = new Set(chosen.map(({ name }) => name));
      assert.ok(nodes.every((node) => !names.has(node.name) || (node.ready && !node.isExcluded && node.address !== undefined)));
      const without = targetsOf(
        uid,
        nodes.filter(({ name }) => name !== chosen[0]!.name),
        undefined,
      );
      assert.equal(without.filter(({ name }) => names.has(name)).length, 31);
    }),
  );
  assert.deepEqual(targetsOf('u', nodes, new Set(['node-1', 'node-10', 'gone'])), [{ name: 'node-1', address: '10.0.1.1' }], 'Local');
  const slices = [
    { endpoints: [{ nodeName: 'a' }, { nodeName: 'b', conditions: { ready: false } }, null, { nodeName: 7 }] },
    { endpoints: 'x' },
  ];
  assert.deepEqual([...nodesOfSlices(slices)], ['a']);
});

test('a PROXY header tells both ends, in either version', () => {
  const port = fc.integer({ min: 1, max: 65_535 });
  fc.assert(
    fc.property(fc.ipV4(), fc.ipV4(), port, port, (client, server, from, to) => {
      const ends = [
        { address: client, port: from },
        { address: server, port: to },
      ] as const;
      assert.equal(proxyHeader('v1', ...ends).toString(), `PROXY TCP4 ${client} ${server} ${from} ${to}\r\n`);
      const v2 = proxyHeader('v2', ...ends);
      assert.equal(v2.length, 16 + v2.readUInt16BE(14));
      assert.deepEqual([v2[12], v2[13], v2.readUInt16BE(14)], [0x21, 0x11, 12]);
      assert.deepEqual([...v2.subarray(16, 20)].join('.'), client);
      assert.deepEqual([...v2.subarray(20, 24)].join('.'), server);
      assert.deepEqual([v2.readUInt16BE(24), v2.readUInt16BE(26)], [from, to]);
    }),
  );
  assert.equal(proxyHeader('v1', { address: '', port: 0 }, { address: '10.0.0.1', port: 80 }).toString(), 'PROXY UNKNOWN\r\n');
  const six = proxyHeader('v2', { address: '2001:db8::1', port: 1 }, { address: '2001:db8::2', port: 2 });
  assert.deepEqual([six[13], six.length], [0x21, 16 + 36]);
});

test('a pool takes routable networks that nothing else uses, and says why not', () => {
  const own = ['192.168.1.10', '127.0.0.1', '::1'];
  const refuse = (network: string, isLoopbackAllowed = false) => refusePool(network, { own, isLoopbackAllowed }) ?? '';
  for (const fine of ['198.51.100.0/28', '8.8.8.8/32', '10.20.0.0/24', '100.64.3.0/30', '192.168.1.0/29'])
    assert.equal(refuse(fine), '', fine);
  for (const [network, why] of [
    ['198.51.100.1/28', /bits set after its prefix; write 198\.51\.100\.0\/28/],
    ['198.51.100.0', /not a network/],
    ['198.51.100.0/33', /not a network/],
    ['1.2.3/24', /not a network/],
    ['2001:db8::/120', /IPv4/],
    ['10.20.0.0/19', /at most 4096/],
    ['10.96.4.0/24', /which every cluster uses inside/],
    ['10.245.0.0/24', /which every cluster uses inside/],
    ['127.5.0.0/24', /--loopback/],
    ['0.0.0.0/24', /no unicast address/],
    ['169.254.3.0/24', /no unicast address/],
    ['224.0.0.0/24', /no unicast address/],
    ['240.0.0.0/24', /no unicast address/],
    ['255.255.255.255/32', /no unicast address/],
    ['168.63.129.0/24', /168\.63\.129\.16.*metadata/],
    ['192.168.1.8/30', /192\.168\.1\.10, an address of this machine/],
  ] as const)
    assert.match(refuse(network), why, network);
  assert.equal(refuse('127.5.0.0/24', true), '');
  assert.match(refuse('127.0.0.0/30', true), /127\.0\.0\.1, an address of this machine/);
});
