import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { approve, clientUsages, csrs, kubelet, signingRequest } from './signing-requests.ts';
import { type Caller, type Credential, embedded, makeRequest } from './support.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const secretOf = (id: string, data: Record<string, string>) => ({
  metadata: { name: `bootstrap-token-${id}` },
  type: 'bootstrap.kubernetes.io/token',
  stringData: { 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true', ...data },
});

async function join(call: Caller, bootstrap: Caller, node: string): Promise<Credential> {
  const { pem, key } = makeRequest(`system:node:${node}`, ['system:nodes']);
  const made = await bootstrap('POST', csrs, signingRequest(`csr-${node}`, pem, kubelet, clientUsages));
  assert.equal(made.status, 201, made.text);
  assert.equal(made.body.spec.username, 'system:bootstrap:abcdef');
  assert.equal(made.body.status, undefined);
  const approved = await approve(call, `csr-${node}`);
  assert.equal(approved.status, 200, approved.text);
  const cert = Buffer.from(approved.body.status.certificate, 'base64').toString();
  return { cert, key, fingerprint: createHash('sha256').update(new X509Certificate(cert).raw).digest('hex') };
}

test('a node joins with a bootstrap token, and writes only its own objects', async (t) => {
  const { call, as, refused, ca, deck } = await embedded(t);
  await call(
    'POST',
    '/api/v1/namespaces/kube-system/secrets',
    secretOf('abcdef', { 'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token' }),
  );
  await call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'kubeadm:kubelet-bootstrap' },
    subjects: [{ kind: 'Group', name: 'system:bootstrappers:kubeadm:default-node-token' }],
    roleRef: { kind: 'ClusterRole', name: 'system:node-bootstrapper' },
  });
  const bootstrap = as('abcdef.0123456789abcdef');
  assert.equal((await as('abcdef.0123456789abcdee')('GET', csrs)).status, 401, 'another secret');
  assert.equal((await bootstrap('GET', '/api/v1/nodes')).status, 403, 'a bootstrap token reads no nodes');
  assert.equal((await approve(bootstrap, 'x')).status, 403);

  const one = await join(call, bootstrap, 'one');
  const certificate = new X509Certificate(one.cert);
  assert.ok(certificate.verify(new X509Certificate(ca.certificate).publicKey));
  assert.match(certificate.subject, /O=system:nodes\nCN=system:node:one/);
  const days = (certificate.validToDate.getTime() - Date.now()) / 86_400_000;
  assert.ok(days > 6.9 && days <= 7, `${days} days`);

  const node = as(one);
  assert.equal((await node('POST', '/api/v1/nodes', { metadata: { name: 'one' } })).status, 201);
  assert.equal((await node('POST', '/api/v1/nodes', { metadata: { name: 'two' } })).status, 403, 'another node');
  assert.equal((await node('GET', '/api/v1/nodes')).status, 403, 'all nodes');
  assert.equal((await node('GET', '/api/v1/nodes?fieldSelector=metadata.name%3Done')).body.items.length, 1);
  assert.equal((await node('GET', '/api/v1/namespaces/kube-system/secrets')).status, 403);
  const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
  const conditions = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  assert.equal((await node('PATCH', '/api/v1/nodes/one/status', conditions, strategic)).status, 200);
  const labels = (label: string) => ({ metadata: { labels: { [label]: 'x' } } });
  assert.equal((await node('PATCH', '/api/v1/nodes/one', labels('node-restriction.kubernetes.io/team'), strategic)).status, 403);
  assert.equal((await node('PATCH', '/api/v1/nodes/one', labels('node-role.kubernetes.io/control-plane'), strategic)).status, 403);
  assert.equal((await node('PATCH', '/api/v1/nodes/one', labels('rack'), strategic)).status, 200);
  assert.equal(
    (await node('PATCH', '/api/v1/nodes/one', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }, strategic)).status,
    403,
  );
  assert.equal((await node('DELETE', '/api/v1/nodes/one')).status, 403);
  assert.equal((await node('POST', leases, { metadata: { name: 'one' }, spec: { leaseDurationSeconds: 40 } })).status, 201);
  assert.equal((await node('POST', leases, { metadata: { name: 'two' } })).status, 403);

  // A node requests its serving certificate itself, for its own addresses, and never for another node's name.
  const serving = makeRequest('system:node:one', ['system:nodes'], ['10.0.0.7', 'one']);
  const serverUsages = ['digital signature', 'server auth'];
  assert.equal(
    (await node('POST', csrs, signingRequest('serving', serving.pem, 'kubernetes.io/kubelet-serving', serverUsages))).status,
    201,
  );
  const signed = await approve(call, 'serving');
  const own = new X509Certificate(Buffer.from(signed.body.status.certificate, 'base64'));
  assert.equal(own.subjectAltName, 'IP Address:10.0.0.7, DNS:one');
  const foreign = makeRequest('system:node:two', ['system:nodes']);
  assert.equal((await node('POST', csrs, signingRequest('foreign', foreign.pem, kubelet, clientUsages))).status, 403);

  refused.add(one.fingerprint);
  assert.equal((await node('GET', '/api/v1/nodes/one')).status, 401, 'deregistered');
  assert.equal((await node('GET', '/version')).status, 401, 'for reads that anybody may do, too');
  const again = await join(call, bootstrap, 'one-again');
  assert.equal((await as(again)('GET', '/api/v1/services')).status, 200);

  // Expired and deleted tokens are refused at once.
  await call(
    'POST',
    '/api/v1/namespaces/kube-system/secrets',
    secretOf('aaaaaa', { expiration: new Date(Date.now() + 600_000).toISOString() }),
  );
  assert.equal((await as('aaaaaa.0123456789abcdef')('GET', '/version')).status, 200);
  await deck.clock.advance('11m');
  assert.equal((await as('aaaaaa.0123456789abcdef')('GET', '/version')).status, 401);
  await call('DELETE', '/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef');
  assert.equal((await bootstrap('GET', '/version')).status, 401);
});
