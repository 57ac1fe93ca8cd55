import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import https from 'node:https';
import net from 'node:net';
import { loadavg } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { programsIn, recordsIn, runOf, schemasOf, watchFrom } from '../../../src/areas/clusters/test/process/support.ts';
import {
  adminOf,
  askCertificate,
  joinToken,
  kube,
  nodeKeys,
  nodeSubject,
  readyCluster,
  untilReady,
  type Way,
} from '../../../src/areas/clusters/test/support.ts';
import { quarterdeck } from '../../harness/index.ts';
import { eventually } from '../../harness/process.ts';
import { withoutKubectl } from '../clusters-kubectl.ts';
import { binaries, kubectlOf, patience } from './kubernetes-support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

/** A node as far as Kubernetes' scheduler can tell: it joined with a token, and has room. No kubelet stands behind it. */
async function joinEmptyNode(way: Way, token: string, name: string): Promise<Way> {
  const keys = nodeKeys(nodeSubject(name));
  const given = await askCertificate({ server: way.server, ca: way.ca, token }, keys);
  if ('denied' in given) throw new Error(`${given.denied}: ${given.message}`);
  const own: Way = { server: way.server, ca: way.ca, cert: given.certificate, key: keys.key };
  const made = await kube(own, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const room = { cpu: '4', memory: '16Gi', pods: '110' };
  const now = new Date().toISOString();
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: now, lastTransitionTime: now }];
  const status = { nodeInfo: { kubeletVersion: 'v1.35.8' }, conditions, capacity: room, allocatable: room };
  const shown = await kube(own, 'PATCH', `/api/v1/nodes/${name}/status`, { status }, 'application/merge-patch+json');
  assert.equal(shown.status, 200, JSON.stringify(shown.body));
  return own;
}

/** Fifty requests a second over connections that are kept, reads and writes, each counted by what came of it. */
function askSteadily(way: Way) {
  const agent = new https.Agent({ keepAlive: true, ca: way.ca });
  const asked = { sent: 0, failed: [] as string[], writes: 0 };
  const ask = (method: string, path: string, body?: unknown) =>
    new Promise<number>((resolve, reject) => {
      const headers = { authorization: `Bearer ${way.token}`, 'content-type': 'application/json' };
      const request = https.request(`${way.server}${path}`, { method, agent, headers }, (answer) => {
        answer
          .on('error', reject)
          .on('end', () => resolve(answer.statusCode!))
          .resume();
      });
      request.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  const under = new Set<Promise<void>>();
  const timer = setInterval(() => {
    const n = asked.sent++;
    const isWrite = n % 5 === 0;
    if (isWrite) asked.writes++;
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `m-${n}` } };
    const one = (isWrite ? ask('POST', maps, object) : ask('GET', '/api/v1/namespaces/kube-system/configmaps?limit=5'))
      .then((status) => void (status === (isWrite ? 201 : 200) || asked.failed.push(`${n}: status ${status}`)))
      .catch((error) => void asked.failed.push(`${n}: ${error}`))
      .finally(() => under.delete(one));
    under.add(one);
  }, 20);
  return {
    asked,
    async stop() {
      clearInterval(timer);
      await Promise.all(under);
      agent.destroy();
    },
  };
}

test('real 1.35 and 1.36: a Deployment is scheduled, an upgrade at 50 requests a second fails none, and nothing is left', {
  skip: withoutKubectl('v36'),
}, async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_CLUSTER_BINARIES: binaries } });
  const { owner, dataDir } = qd;
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s (load ${loadavg()[0]!.toFixed(1)})`;
  const made = await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.35.8' });
  t.diagnostic(`ready after ${seconds()}`);
  const port = Number(new URL(made.endpoint.includes('://') ? made.endpoint : `https://${made.endpoint}`).port);
  const admin = await adminOf(owner, 'prod');
  const kubectl = await kubectlOf(t, owner, 'prod');
  assert.match(await kubectl('version'), /Server Version: v1\.35\.8/);
  assert.match(await kubectl('auth', 'whoami'), /system:serviceaccount:quarterdeck-system:person-/);

  await kubectl('create', 'deployment', 'web', '--image=registry.example/web:1', '--replicas=2');
  const pods = async () => JSON.parse(await kubectl('get', 'pods', '-o', 'json')).items;
  await eventually(async () => (await pods()).length === 2, patience);
  await joinEmptyNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  // biome-ignore lint/suspicious/noExplicitAny: pods
  await eventually(async () => (await pods()).every(({ spec }: any) => spec.nodeName === 'worker-1'), patience);
  t.diagnostic(`pods are bound to the node after ${seconds()}`);
  assert.equal((await owner.get('/clusters/prod/nodes')).body.nodes[0].name, 'worker-1');

  const watch = watchFrom(admin, maps);
  const { asked, stop } = askSteadily(admin);
  await sleep(3_000);
  const patched = await owner.patch('/clusters/prod', { orchestratorVersion: 'v1.36.4' });
  assert.equal(patched.status, 200, JSON.stringify(patched.body));
  await untilReady(owner, 'prod');
  await eventually(async () => (await kubectl('version')).includes('Server Version: v1.36.4'), patience);
  await eventually(async () => (await recordsIn(dataDir)).filter(({ kind }) => kind === 'kube-apiserver').length === 1, patience);
  await sleep(3_000);
  await stop();
  t.diagnostic(
    `upgraded after ${seconds()}: ${asked.sent} requests, ${asked.failed.length} failed; the watch ended ${watch.ends()} times, was cut ${watch.cuts()} times`,
  );
  assert.deepEqual(asked.failed, []);
  const written = () => [...watch.names()].filter((name) => name.startsWith('m-')).length;
  await eventually(async () => written() === asked.writes, patience);
  watch.stop();
  assert.equal((await pods()).length, 2);

  assert.equal((await owner.delete('/clusters/prod')).status, 202);
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404, patience);
  assert.deepEqual(await programsIn(dataDir), []);
  assert.deepEqual(await readdir(await runOf(dataDir)), []);
  assert.deepEqual(await schemasOf(qd.app), []);
  const isFree = await new Promise<boolean>((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true));
  });
  assert.ok(isFree, 'its port is free');
  t.diagnostic(`gone after ${seconds()}`);
});
