import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { connect as tcpConnect } from 'node:net';
import { test } from 'node:test';
import { connect as tlsConnect } from 'node:tls';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { issueCertificate } from '../../../../kernel/x509/issue.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster, type Way } from '../support.ts';

/** A certificate that says what we like, signed by whom we like. */
function forged(issuer: string, subject: { commonName: string; organizations: string[] }, until = Date.now() + 3_600_000) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cert = issueCertificate({
    subject,
    issuer: { commonName: issuer },
    publicKey,
    signingKey: privateKey,
    usages: ['client'],
    from: new Date(Date.now() - 7_200_000),
    until: new Date(until),
  });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

test('a listener accepts only certificates of its own cluster', async (t) => {
  const { owner } = await quarterdeck(t);
  await Promise.all([readyCluster(owner, { name: 'one' }), readyCluster(owner, { name: 'two' })]);
  const [one, two] = [await adminOf(owner, 'one'), await adminOf(owner, 'two')];
  assert.notEqual(one.server, two.server);
  const { way: node } = await joinNode(one, await joinToken(owner, 'one'), 'worker-1');
  assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 200);

  const elsewhere: Way = { server: two.server, ca: two.ca, cert: node.cert!, key: node.key! };
  const masters = { commonName: 'admin', organizations: ['system:masters'] };
  const cases: Record<string, Way> = {
    'a node of another cluster': elsewhere,
    'a forged master': { server: one.server, ca: one.ca, ...forged('kubernetes', masters) },
    'an expired one': { server: one.server, ca: one.ca, ...forged('kubernetes', masters, Date.now() - 3_600_000) },
  };
  for (const [what, way] of Object.entries(cases)) {
    const refused = await kube(way, 'GET', '/api/v1/namespaces');
    assert.equal(refused.status, 401, `${what}: ${JSON.stringify(refused.body)}`);
    assert.equal(refused.body.kind, 'Status');
    assert.match(refused.body.message, /not of this cluster, or has expired/);
  }
  // A token of another cluster, a made-up one, and none at all.
  assert.equal((await kube({ ...two, token: one.token! }, 'GET', '/api/v1/namespaces')).status, 401);
  assert.equal((await kube({ ...one, token: 'abcdef.0123456789abcdef' }, 'GET', '/api/v1/namespaces')).status, 401);
  const anonymous = { server: one.server, ca: one.ca };
  assert.equal((await kube(anonymous, 'GET', '/api/v1/namespaces')).status, 403);
  assert.equal(
    (await kube(anonymous, 'GET', '/api/v1/namespaces/kube-public/configmaps/cluster-info')).status,
    200,
    'what kubeadm looks at first',
  );

  // What is no TLS is ended, and the listener goes on.
  const { port, hostname } = new URL(one.server);
  const socket = tcpConnect(Number(port), hostname, () => socket.write('GET / HTTP/1.1\r\n\r\n'));
  await new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
  assert.equal((await kube(one, 'GET', '/readyz')).status, 200);
});

test('with a domain all clusters share a port and are selected by server name', async (t) => {
  const { owner } = await quarterdeck(t, { env: { QUARTERDECK_CLUSTER_DOMAIN: 'clusters.example.com' } });
  const made = [await readyCluster(owner, { name: 'one' }), await readyCluster(owner, { name: 'two' })];
  const [first, second] = made.map(({ endpoint }) => new URL(endpoint));
  assert.equal(first!.port, second!.port);
  assert.match(first!.hostname, /^one-[a-z0-9]{8}\.clusters\.example\.com$/);
  for (const [name, url] of [
    ['one', first!],
    ['two', second!],
  ] as const) {
    const way = await adminOf(owner, name);
    const there = { ...way, server: `https://127.0.0.1:${url.port}`, serverName: url.hostname };
    assert.equal((await kube(there, 'GET', '/api/v1/namespaces')).status, 200);
    const other = url === first ? second! : first!;
    const foreign = { ...there, serverName: other.hostname, ca: (await adminOf(owner, name === 'one' ? 'two' : 'one')).ca };
    assert.equal((await kube(foreign, 'GET', '/api/v1/namespaces')).status, 401, 'its token is of the other one');
    await assert.rejects(kube({ ...there, serverName: 'nobody.clusters.example.com' }, 'GET', '/readyz'));
  }
  // A connection without a server name gets no certificate of any cluster.
  const socket = tlsConnect({ port: Number(first!.port), host: '127.0.0.1', rejectUnauthorized: false });
  const shown = await new Promise((resolve) =>
    socket.on('secureConnect', () => resolve(socket.getPeerCertificate().subjectaltname)).on('error', () => resolve(undefined)),
  );
  socket.destroy();
  assert.equal(shown, undefined);
});
