import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { makeAuthority, makeLeaf, newKey } from '../../engine/issue.ts';
import { findPki } from '../../engine/pki.ts';
import { clusterByName } from '../../store/clusters.ts';
import { adminOf, answered, joinNode, joinToken, kube, readyCluster, type Way } from '../support.ts';
import { recordsIn, withPrograms } from './support.ts';

interface Who {
  status: number;
  username?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** Asks the apiserver who it believes the caller to be, with these headers as they are written. */
const whoAmI = (way: Way, headers: string[] = []): Promise<Who> =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
    const { host } = new URL(way.server);
    const asked = httpsRequest(
      `${way.server}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
      {
        method: 'POST',
        ca: way.ca,
        cert: way.cert,
        key: way.key,
        agent: false,
        headers: [
          'Host',
          host,
          'Content-Type',
          'application/json',
          'Content-Length',
          String(Buffer.byteLength(text)),
          ...(way.token ? ['Authorization', `Bearer ${way.token}`] : []),
          ...headers,
        ],
      },
      (answer) => {
        let said = '';
        answer.setEncoding('utf8').on('data', (piece) => (said += piece));
        answer.on('end', () => {
          const body = said.startsWith('{') ? JSON.parse(said) : {};
          resolve({ status: answer.statusCode!, ...body.status?.userInfo });
        });
      },
    );
    asked.on('error', reject);
    asked.end(text);
  });

const claims = ['X-Remote-User', 'x-remote-user', 'X-REMOTE-USER', 'X_Remote_User', 'x-Remote_uSER'].flatMap((name) => [
  name,
  'system:kube-scheduler',
]);
const groups = ['X-Remote-Group', 'x_remote_group', 'X-Remote-Groups'].flatMap((name) => [name, 'system:masters']);
const extras = ['X-Remote-Extra-scopes', 'all', 'X-Remote-Uid', 'root', 'X_REMOTE_EXTRA_x', 'y'];

test('identity headers of a caller are ignored; only the front judges certificates', async (t) => {
  const { owner, app, dataDir } = await withPrograms(t);
  await readyCluster(owner, { name: 'prod' });
  await readyCluster(owner, { name: 'other' });
  const admin = await adminOf(owner, 'prod');
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  const stranger: Way = { server: admin.server, ca: admin.ca };
  const all = [...claims, ...groups, ...extras];

  // Anonymous, a token, a certificate: identity headers of the caller make no difference.
  const anonymous = await whoAmI(stranger, all);
  assert.notEqual(anonymous.username, 'system:kube-scheduler');
  assert.deepEqual(anonymous, await whoAmI(stranger));
  const person = await whoAmI(admin, all);
  assert.match(person.username ?? '', /^system:serviceaccount:quarterdeck-system:/);
  assert.deepEqual(person.groups?.includes('system:masters'), false);
  const asNode = await whoAmI(node, [...all, 'Authorization', 'Bearer nonsense']);
  const fingerprint = createHash('sha256').update(new X509Certificate(node.cert!).raw).digest('hex');
  assert.equal(asNode.username, 'system:node:worker-1');
  assert.deepEqual([...asNode.groups!].sort(), ['system:authenticated', 'system:nodes']);
  assert.deepEqual(asNode.extra, { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] });
  // A name that `Connection` lists goes no further, ours always does.
  assert.equal((await whoAmI(node, ['Connection', 'X-Remote-User, X-Remote-Group, close'])).username, 'system:node:worker-1');

  // Certificates of another cluster, of an unknown authority, and one that names system:masters.
  const row = (await app.db.read((tx) => clusterByName(tx, owner.orgId, 'prod')))!;
  const pki = (await app.db.read((tx) => findPki(tx, app, row.id)))!;
  const ca = { certificate: pki.caCertificate, key: pki.caKey, commonName: 'kubernetes' };
  const foreign = makeLeaf(
    { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' },
    { subject: { commonName: 'system:node:worker-1', organizations: ['system:nodes'] }, usage: 'client' },
  );
  assert.equal((await kube({ ...stranger, cert: foreign.certificate, key: foreign.key }, 'GET', '/version')).status, 401);
  const master = makeLeaf(ca, { subject: { commonName: 'mallory', organizations: ['system:masters'] }, usage: 'client' });
  assert.equal((await kube({ ...stranger, cert: master.certificate, key: master.key }, 'GET', '/api/v1/nodes')).status, 401);
  const otherAdmin = await adminOf(owner, 'other');
  assert.equal((await kube({ ...node, server: otherAdmin.server, ca: otherAdmin.ca }, 'GET', '/version')).status, 401);

  // Behind the front a node's certificate is worth nothing: the apiserver does not know its authority.
  const inner: Way = {
    server: `https://127.0.0.1:${(await recordsIn(dataDir)).find(({ kind }) => kind === 'kube-apiserver')!.port}`,
    ca: pki.inner!.authority.certificate,
  };
  const behind = await whoAmI({ ...inner, cert: node.cert!, key: node.key! }, ['X-Remote-User', 'system:node:worker-1']).catch(() => ({
    username: 'nobody',
  }));
  assert.doesNotMatch(behind.username ?? '', /system:node/);

  // Deregistered: refused at once, and by name it may join anew.
  const left = await answered(() => owner.delete('/clusters/prod/nodes/worker-1'));
  assert.ok([204, 404].includes(left.status), JSON.stringify(left)); // 404: asked again after it was done
  await eventually(async () => (await kube(node, 'GET', '/api/v1/nodes/worker-1').catch(() => ({ status: 401 }))).status === 401);
  const { way: again } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  assert.equal((await kube(again, 'GET', '/api/v1/nodes/worker-1')).status, 200);
  assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 401);
});
