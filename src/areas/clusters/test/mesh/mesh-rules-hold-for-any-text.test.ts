import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { refusePublicKey } from '../../rules/mesh/key.ts';
import { controlPlaneAddress, freeAddress, freeNetwork, isInMesh } from '../../rules/mesh/network.ts';
import { hubConfig, type MeshNode, maxDirectNodes, readDump, viewOf, viewText } from '../../rules/mesh/peers.ts';
import { readJoiningMachine, readPeerRequest } from '../../rules/mesh/request.ts';
import { newPublicKey } from './support.ts';

const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64');

test('a public key is a point that only one machine knows the secret of, in one spelling', () => {
  for (let n = 0; n < 20; n++) assert.equal(refusePublicKey(newPublicKey()), undefined);
  // RFC 7748, 6.1, and the points of low order.
  for (const [hex, why] of [
    ['00'.repeat(32), /low order/],
    [`01${'00'.repeat(31)}`, /low order/],
    ['e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800', /low order/],
    ['5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157', /low order/],
    [`ec${'ff'.repeat(30)}7f`, /low order/],
    [`ed${'ff'.repeat(30)}7f`, /another spelling/],
    ['ff'.repeat(32), /another spelling/],
    [`${'07'.repeat(31)}87`, /another spelling/],
  ] as const)
    assert.match(refusePublicKey(base64(hex)) ?? '', why, hex);
  const key = newPublicKey();
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const spare = `${key.slice(0, 42)}${alphabet[alphabet.indexOf(key[42]!) + 1]}=`;
  for (const wrong of [spare, key.slice(0, -1), `${key}\n`, ` ${key}`, key.replace('=', ''), '', 7, null, undefined, {}, [key]])
    assert.match(refusePublicKey(wrong) ?? '', /wg pubkey/, JSON.stringify(wrong));
  fc.assert(fc.property(fc.anything(), (any) => typeof refusePublicKey(any) === 'string'));
  const { x } = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
  assert.match(refusePublicKey(x) ?? '', /base64/, 'not base64url');
});

test('keys that are only compared are judged by their form: a hundred points would take a server milliseconds of each request', () => {
  const lowOrder = base64('00'.repeat(32));
  const asked = readPeerRequest({ wireguardPublicKey: newPublicKey(), reached: Array(100).fill(lowOrder) });
  assert.deepEqual(typeof asked === 'string' ? asked : asked.reached, [lowOrder]);
  assert.match(String(readPeerRequest({ wireguardPublicKey: newPublicKey(), reached: ['x'] })), /reached: .* base64/);
});

test('networks and addresses are the lowest free ones, and never overlap', () => {
  assert.equal(freeNetwork('100.64.0.0/10', []), '100.64.0.0/20');
  assert.equal(freeNetwork('100.64.0.0/10', ['100.64.0.0/20', '100.64.32.0/20']), '100.64.16.0/20');
  assert.equal(freeNetwork('100.100.96.0/20', []), undefined, 'a metadata service is in there');
  assert.equal(freeNetwork('10.96.0.0/19', []), undefined, 'services of every cluster');
  assert.equal(freeNetwork('172.16.0.0/20', ['172.16.0.0/20']), undefined);
  assert.equal(controlPlaneAddress('100.64.16.0/20'), '100.64.16.1');
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 2, max: 4_094 }), { maxLength: 300 }), (taken) => {
      const text = (n: number) => `100.64.${16 + Math.floor(n / 256)}.${n % 256}`;
      const found = freeAddress('100.64.16.0/20', taken.map(text))!;
      assert.ok(isInMesh('100.64.16.0/20', found) && !taken.map(text).includes(found));
      assert.notEqual(found, controlPlaneAddress('100.64.16.0/20'));
    }),
  );
  const all = Array.from({ length: 4_093 }, (_, n) => `100.64.${16 + Math.floor((n + 2) / 256)}.${(n + 2) % 256}`);
  assert.equal(freeAddress('100.64.16.0/20', all), undefined);
  for (const host of ['100.64.32.0', '100.64.15.255', 'node-1', '::1', '0x64401001', '100.64.16', ''])
    assert.equal(isInMesh('100.64.16.0/20', host), false, host);
});

const hub = { network: '100.64.0.0/20', publicKey: 'HUB', endpoint: 'shard.example:16443' };
const node = (n: number, more: Partial<MeshNode> = {}): MeshNode => ({
  node: `n${n}`,
  address: `100.64.0.${n + 2}`,
  publicKey: `K${n}`,
  endpoint: `203.0.113.${n}:1`,
  reached: [],
  ...more,
});

test('a node sends through the control plane, and directly only to nodes that also say so', () => {
  assert.equal(viewOf('other', hub, [node(1)]), undefined);
  const allowed = (nodes: MeshNode[]) => viewOf('n1', hub, nodes)!.peers.map(({ publicKey, allowedIps }) => [publicKey, ...allowedIps]);
  assert.deepEqual(allowed([node(1), node(2)]), [['HUB', hub.network], ['K2']]);
  assert.deepEqual(allowed([node(1, { reached: ['K2'] }), node(2)]), [['HUB', hub.network], ['K2']], 'one says so');
  const both = [node(1, { reached: ['K2'] }), node(2, { reached: ['K1'] })];
  assert.deepEqual(allowed(both), [
    ['HUB', hub.network],
    ['K2', '100.64.0.4/32'],
  ]);
  assert.deepEqual(allowed([both[0]!, { ...both[1]!, endpoint: undefined }]), [['HUB', hub.network]], 'never seen');
  const many = Array.from({ length: maxDirectNodes + 1 }, (_, n) => node(n + 1));
  assert.deepEqual(allowed(many), [['HUB', hub.network]]);
  const { revision } = viewOf('n1', hub, both)!;
  assert.equal(viewOf('n1', hub, both.toReversed())!.revision, revision, 'the order does not matter');
  assert.notEqual(viewOf('n1', { ...hub, endpoint: 'elsewhere:1' }, both)!.revision, revision);
  assert.match(viewText(viewOf('n1', hub, both)!), /^# revision [0-9a-f]{16}\n# address 100\.64\.0\.3\/20\n\[Peer\]\nPublicKey = HUB\n/);
  assert.match(
    hubConfig({ privateKey: 'P', port: 7 }, both),
    /ListenPort = 7\n\n\[Peer\]\nPublicKey = K1\nAllowedIPs = 100\.64\.0\.3\/32\n/,
  );
  assert.deepEqual(
    readDump('i\ti\t1\toff\nK1\t(none)\t203.0.113.1:9\t100.64.0.3/32\t17\t5\t6\toff\nK2\t(none)\t(none)\t(none)\t0\t0\t0\toff\n'),
    [
      { publicKey: 'K1', endpoint: '203.0.113.1:9', handshakeAt: 17, received: 5, sent: 6 },
      { publicKey: 'K2', endpoint: undefined, handshakeAt: 0, received: 0, sent: 0 },
    ],
  );
});

test('what a machine sends is taken whole, or refused with a sentence', () => {
  const wireguardPublicKey = newPublicKey();
  assert.deepEqual(readJoiningMachine({ node: 'worker-1', wireguardPublicKey }), { node: 'worker-1', publicKey: wireguardPublicKey });
  assert.equal(readJoiningMachine(undefined), undefined);
  assert.equal(readJoiningMachine({}), undefined);
  for (const [body, why] of [
    [{ node: 'worker-1' }, /belong together/],
    [{ wireguardPublicKey }, /belong together/],
    [{ node: 'Worker 1', wireguardPublicKey }, /no name of a node/],
    [{ node: '../x', wireguardPublicKey }, /no name of a node/],
    [{ node: ['a'], wireguardPublicKey }, /no name of a node/],
    [{ node: 'a', wireguardPublicKey, address: '100.64.0.9' }, /address is not known here/],
    [[], /no JSON object/],
    ['x', /no JSON object/],
    [{ node: 'a', wireguardPublicKey: 'x' }, /wg pubkey/],
  ] as const)
    assert.match(readJoiningMachine(body) as string, why, JSON.stringify(body));
  assert.deepEqual(readPeerRequest({ wireguardPublicKey, revision: 'r', reached: [] }), {
    publicKey: wireguardPublicKey,
    revision: 'r',
    reached: [],
  });
  for (const [body, why] of [
    [{ wireguardPublicKey, node: 'other' }, /node is not known here/],
    [{ wireguardPublicKey, revision: 7 }, /revision is no text/],
    [{ wireguardPublicKey, reached: 'all' }, /reached is no list/],
    [{ wireguardPublicKey, reached: ['x'] }, /reached: a key is not 32 bytes/],
    [{ wireguardPublicKey, reached: Array(maxDirectNodes + 1).fill(wireguardPublicKey) }, /reached is no list/],
  ] as const)
    assert.match(readPeerRequest(body) as string, why, JSON.stringify(body));
});
