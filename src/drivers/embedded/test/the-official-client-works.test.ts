import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CoordinationV1Api,
  CoreV1Api,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  RbacAuthorizationV1Api,
  setHeaderOptions,
  VersionApi,
} from '@kubernetes/client-node';
import { embedded } from './support.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

test('the official client works with the embedded API', async (t) => {
  const { port, ca, admin } = await embedded(t);
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'c', server: `https://127.0.0.1:${port}`, caData: base64(ca.certificate), skipTLSVerify: false }],
    users: [{ name: 'u', certData: base64(admin.cert), keyData: base64(admin.key) }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
  const core = config.makeApiClient(CoreV1Api);
  assert.equal((await config.makeApiClient(VersionApi).getCode()).gitVersion, 'v1.36.0+embedded');

  const told: string[] = [];
  let notice = () => {};
  const informer = makeInformer(config, '/api/v1/namespaces/default/configmaps', () =>
    core.listNamespacedConfigMap({ namespace: 'default' }),
  );
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(verb, (object) => {
      told.push(`${verb} ${object.metadata?.name} ${object.data?.['a'] ?? ''}`);
      notice();
    });
  informer.on('error', () => {});
  await informer.start();
  t.after(() => informer.stop());
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      notice = () => told.length >= count && resolve();
      notice();
    });

  await core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name: 'one' }, data: { a: '1' } } });
  await core.patchNamespacedConfigMap(
    { namespace: 'default', name: 'one', body: { data: { a: '2' } } },
    setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
  );
  await core.deleteNamespacedConfigMap({ namespace: 'default', name: 'one' });
  await until(3);
  assert.deepEqual(told, ['add one 1', 'update one 2', 'delete one 2']);

  const lease = config.makeApiClient(CoordinationV1Api);
  const made = await lease.createNamespacedLease({
    namespace: 'kube-node-lease',
    body: { metadata: { name: 'n' }, spec: { holderIdentity: 'n', leaseDurationSeconds: 40 } },
  });
  const renewed = await lease.replaceNamespacedLease({ namespace: 'kube-node-lease', name: 'n', body: made });
  assert.equal(renewed.metadata?.resourceVersion, made.metadata?.resourceVersion);
  const roles = await config.makeApiClient(RbacAuthorizationV1Api).listClusterRole();
  assert.ok(roles.items.some(({ metadata }) => metadata?.name === 'cluster-admin'));
  const token = await core.createNamespacedServiceAccountToken({
    namespace: 'default',
    name: 'default',
    body: { spec: { audiences: [], expirationSeconds: 600 } },
  });
  assert.equal(token.status?.token?.split('.').length, 3);
  await assert.rejects(core.readNode({ name: 'nobody' }), /not found/);
});
