import assert from 'node:assert/strict';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { adminOf, kube, readyCluster, type Way } from '../../../src/areas/clusters/test/support.ts';
import { quarterdeck } from '../../harness/index.ts';
import { binaries } from './kubernetes-support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
/** Nothing changes them in a new cluster. */
const quiet = [
  '/api/v1/persistentvolumes',
  '/api/v1/podtemplates',
  '/apis/batch/v1/cronjobs',
  '/apis/node.k8s.io/v1/runtimeclasses',
  '/apis/storage.k8s.io/v1/storageclasses',
  '/apis/storage.k8s.io/v1/volumeattachments',
];

/** All that a watch of five seconds tells. */
const watchBriefly = ({ server, ca, token }: Way, path: string) =>
  new Promise<string>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    https
      .get(`${server}${path}?watch=1&timeoutSeconds=5`, { ca, headers, agent: false }, (answer) => text(answer).then(resolve, reject))
      .on('error', reject);
  });

// kine reports how far a watch has come; an apiserver waits for three seconds, and then sends an ERROR.
test('a watch without a resource version begins, also where nothing of the kind has changed', async (t) => {
  const { owner } = await quarterdeck(t, { env: { QUARTERDECK_CLUSTER_BINARIES: binaries } });
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const admin = await adminOf(owner, 'prod');
  for (let n = 0; n < 3; n++) {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `newer-than-the-caches-${n}` } };
    assert.equal((await kube(admin, 'POST', maps, map)).status, 201);
    assert.deepEqual(
      await Promise.all(quiet.map((path) => watchBriefly(admin, path))),
      quiet.map(() => ''),
    );
  }
});
