import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { readyCluster } from '../support.ts';

test('Kubernetes’ own client accepts the configuration and authenticates', async (t) => {
  const { owner } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const config = new KubeConfig();
  config.loadFromString((await owner.get('/clusters/prod/kubeconfig')).body.kubeconfig);
  assert.equal(config.currentContext, 'prod');
  assert.equal(config.getCurrentUser()!.name, owner.email);
  const api = config.makeApiClient(CoreV1Api);
  const names = (await api.listNamespace()).items.map((each) => each.metadata!.name);
  assert.ok(names.includes('default') && names.includes('kube-system'), String(names));
  await api.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name: 'colours' }, data: { sky: 'blue' } } });
  assert.deepEqual((await api.readNamespacedConfigMap({ namespace: 'default', name: 'colours' })).data, { sky: 'blue' });
});
