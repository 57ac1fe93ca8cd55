import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { addonObjects, dnsVersionOf, raiseTag, withNewerImage } from '../../rules/addons/index.ts';

const context = { version: 'v1.36.4', endpoint: 'https://203.0.113.5:16443', images: 'registry.k8s.io' };
// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
const find = (kind: string, name: string, given: Parameters<typeof addonObjects>[0] = context): any =>
  addonObjects(given).find(({ object }) => object.kind === kind && object.metadata.name === name)!.object;
const imageIn = (kind: string, name: string, given = context) => find(kind, name, given).spec.template.spec.containers[0].image;

test('a new cluster gets kubeadm’s objects, each at the path of its kind', () => {
  assert.deepEqual(
    addonObjects(context).map(({ path, object }) => `${path} ${object.metadata.name}`),
    [
      '/api/v1/namespaces/kube-system/services kube-dns',
      '/api/v1/namespaces/kube-system/serviceaccounts coredns',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles system:coredns',
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings system:coredns',
      '/api/v1/namespaces/kube-system/configmaps coredns',
      '/apis/apps/v1/namespaces/kube-system/deployments coredns',
      '/api/v1/namespaces/kube-system/serviceaccounts kube-proxy',
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings kubeadm:node-proxier',
      '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles kube-proxy',
      '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings kube-proxy',
      '/api/v1/namespaces/kube-system/configmaps kube-proxy',
      '/apis/apps/v1/namespaces/kube-system/daemonsets kube-proxy',
    ],
  );
  assert.equal(find('Service', 'kube-dns').spec.clusterIP, '10.96.0.10');
  const { data } = find('ConfigMap', 'kube-proxy');
  assert.equal(parse(data['kubeconfig.conf']).clusters[0].cluster.server, context.endpoint);
  const config = parse(data['config.conf']);
  assert.deepEqual([config.kind, config.clusterCIDR, config.ipvs.strictARP], ['KubeProxyConfiguration', '10.244.0.0/14', false]);
});

test('images are of the cluster’s version, and from where the operator says', () => {
  assert.equal(imageIn('DaemonSet', 'kube-proxy'), 'registry.k8s.io/kube-proxy:v1.36.4');
  assert.equal(imageIn('Deployment', 'coredns'), 'registry.k8s.io/coredns/coredns:v1.14.2');
  const cached = { ...context, version: 'v1.35.8', images: 'quarterdeck.example/infra/registry.k8s.io', login: 'puller:secret' };
  assert.equal(imageIn('DaemonSet', 'kube-proxy', cached), 'quarterdeck.example/infra/registry.k8s.io/kube-proxy:v1.35.8');
  assert.equal(imageIn('Deployment', 'coredns', cached), 'quarterdeck.example/infra/registry.k8s.io/coredns/coredns:v1.13.1');
  for (const name of ['coredns', 'kube-proxy'])
    assert.deepEqual(find('ServiceAccount', name, cached).imagePullSecrets, [{ name: 'quarterdeck-images' }]);
  assert.equal('imagePullSecrets' in find('ServiceAccount', 'coredns'), false);
  assert.deepEqual(['v1.30.1', 'v1.33.13', 'v1.34.4', 'v1.36.4', 'v1.99.0'].map(dnsVersionOf), [
    'v1.12.0',
    'v1.12.0',
    'v1.12.1',
    'v1.14.2',
    'v1.14.2',
  ]);
});

test('a tag only rises, and an image without a version is left alone', () => {
  const raise = (image: unknown) => raiseTag(image, { tag: 'v1.36.4' });
  assert.equal(raise('registry.k8s.io/kube-proxy:v1.35.8'), 'registry.k8s.io/kube-proxy:v1.36.4');
  assert.equal(raise('localhost:5000/mine/kube-proxy:v1.35.8'), 'localhost:5000/mine/kube-proxy:v1.36.4');
  for (const kept of [
    'a/kube-proxy:v1.36.4',
    'a/kube-proxy:v1.37.0',
    'a/kube-proxy:latest',
    'a:5000/kube-proxy',
    'a@sha256:ab',
    '',
    7,
    null,
  ])
    assert.equal(raise(kept), undefined, String(kept));
  const version = fc.tuple(fc.nat(60), fc.nat(60)).map(([minor, patch]) => `v1.${minor}.${patch}`);
  fc.assert(
    fc.property(version, version, (from, to) => {
      const raised = raiseTag(`r/x:${from}`, { tag: to });
      if (raised !== undefined) assert.equal(raiseTag(`r/x:${to}`, { tag: from }), undefined, 'never both ways');
      if (raised !== undefined) assert.equal(raiseTag(raised, { tag: to }), undefined, 'only once');
    }),
  );
});

test('of a workload only the image changes, and any object of a tenant is taken', () => {
  const image = { container: 'coredns', tag: 'v1.14.2', name: 'coredns/coredns' };
  const workload = find('Deployment', 'coredns', { ...context, version: 'v1.35.8' });
  const edited = structuredClone(workload);
  edited.spec.replicas = 5;
  edited.spec.template.spec.containers.unshift({ name: 'sidecar', image: 'a/coredns:v1.0.0' });
  const raised = withNewerImage(edited, image)!;
  const expected = structuredClone(edited);
  expected.spec.template.spec.containers[1].image = 'registry.k8s.io/coredns/coredns:v1.14.2';
  assert.deepEqual(raised, expected);
  assert.equal(withNewerImage(raised, image), undefined);
  fc.assert(fc.property(fc.jsonValue(), (spec) => withNewerImage({ ...workload, spec }, image) === undefined));
  fc.assert(
    fc.property(
      fc.jsonValue(),
      (containers) => withNewerImage({ ...workload, spec: { template: { spec: { containers } } } }, image) === undefined,
    ),
  );
});
