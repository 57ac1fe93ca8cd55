import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { bootstrapTokenFrom, signDetached, tokenText } from '../../rules/bootstrap-token.ts';
import { type CertificateRequest, judgeRequest, namesNotOwned, namesOfApi } from '../../rules/requests.ts';

const joining: CertificateRequest = {
  signer: 'kubernetes.io/kube-apiserver-client-kubelet',
  username: 'system:bootstrap:abcdef',
  usages: ['digital signature', 'key encipherment', 'client auth'],
  commonName: 'system:node:worker-1',
  organizations: ['system:nodes'],
  dnsNames: [],
  addresses: [],
  hasOtherNames: false,
};

test('joins and renewals are told apart, and a node requests certificates for itself only', () => {
  assert.deepEqual(judgeRequest(joining), { is: 'join', token: 'abcdef', node: 'worker-1' });
  assert.deepEqual(judgeRequest({ ...joining, usages: ['client auth', 'digital signature'] }), {
    is: 'join',
    token: 'abcdef',
    node: 'worker-1',
  });
  assert.deepEqual(judgeRequest({ ...joining, username: 'system:node:worker-1' }), { is: 'renewal', node: 'worker-1' });
  assert.equal(judgeRequest({ ...joining, username: 'system:node:worker-2' }).is, 'denied');
  assert.equal(judgeRequest({ ...joining, username: 'alice' }).is, 'foreign', 'the administrators of the cluster decide');
  assert.equal(judgeRequest({ ...joining, signer: 'example.com/mine' }).is, 'foreign');
});

test('a bootstrap token may request a node’s certificate and nothing else', () => {
  const wrong = fc.constantFrom<Partial<CertificateRequest>>(
    { organizations: ['system:masters'] },
    { organizations: ['system:nodes', 'system:masters'] },
    { commonName: 'admin' },
    { commonName: 'system:node:' },
    { commonName: 'system:node:../x' },
    { usages: ['digital signature', 'client auth', 'server auth'] },
    { usages: ['client auth'] },
    { dnsNames: ['x'] },
    { addresses: ['10.0.0.1'] },
    { hasOtherNames: true },
  );
  fc.assert(fc.property(wrong, (over) => assert.equal(judgeRequest({ ...joining, ...over }).is, 'denied', JSON.stringify(over))));
});

test('a serving certificate names only the node’s own addresses, and none that are shared by all machines', () => {
  const serving = {
    ...joining,
    signer: 'kubernetes.io/kubelet-serving',
    username: 'system:node:worker-1',
    usages: ['digital signature', 'server auth'],
    dnsNames: ['worker-1'],
    addresses: ['10.1.2.3'],
  };
  assert.deepEqual(judgeRequest(serving), { is: 'serving', node: 'worker-1', names: ['worker-1', '10.1.2.3'] });
  assert.equal(judgeRequest({ ...serving, dnsNames: [], addresses: [] }).is, 'denied');
  const own = ['worker-1', '10.1.2.3', '169.254.169.254', '127.0.0.1', '::1'];
  assert.deepEqual(namesNotOwned(['worker-1', '10.1.2.3'], own), []);
  assert.deepEqual(namesNotOwned(['10.9.9.9', '169.254.169.254', '127.0.0.1', '::1', 'localhost'], own), [
    '10.9.9.9',
    '169.254.169.254',
    '127.0.0.1',
    '::1',
    'localhost',
  ]);
  for (const plain of ['ffm-1', 'february', 'fd00::1']) assert.deepEqual(namesNotOwned([plain], [plain]), []);
  for (const wide of ['*.example.com', '::ffff:10.96.0.1', 'fe80::1', 'FF02::1']) assert.deepEqual(namesNotOwned([wide], [wide]), [wide]);
});

test('no serving certificate names what clients look for the API under', () => {
  const hosts = ['prod-1234abcd.k8s.example.com', '192.0.2.7', 'localhost'];
  const posing = [
    'PROD-1234abcd.k8s.example.com',
    'prod-1234abcd.k8s.example.com.',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
  ];
  const inside = ['kubernetes.default.svc.cluster.local', 'web.shop.svc', '10.96.0.1', '10.111.255.254'];
  assert.deepEqual(namesOfApi([...posing, ...inside], hosts), [...posing, ...inside]);
  assert.deepEqual(namesOfApi(['worker-1', 'worker-1.example.com', '10.1.2.3', '10.112.0.1', '192.0.2.7'], hosts), []);
});

test('bootstrap tokens have Kubernetes’ form, and their signature is the one that kubeadm computes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), (bytes) => {
      const token = bootstrapTokenFrom(bytes);
      if (token) assert.match(tokenText(token), /^[a-z0-9]{6}\.[a-z0-9]{16}$/);
    }),
  );
  const [header, content, signature] = signDetached('hello', { id: 'abcdef', secret: '0123456789abcdef' }).split('.');
  assert.equal(content, '');
  assert.deepEqual(JSON.parse(Buffer.from(header!, 'base64url').toString()), { alg: 'HS256', kid: 'abcdef' });
  assert.equal(
    signature,
    createHmac('sha256', '0123456789abcdef')
      .update(`${header}.${Buffer.from('hello').toString('base64url')}`)
      .digest('base64url'),
  );
});
