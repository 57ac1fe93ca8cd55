import type { KubeObject } from './object.ts';
import type { PolicyRule } from './rbac.ts';

// Built-in objects of every cluster, as kube-apiserver creates them, for the kinds that are served here.

/** Raise it when the built-in objects grow: existing clusters create the new ones at their next start. */
export const builtInRevision = 1;

const rbacVersion = 'rbac.authorization.k8s.io/v1';
const labels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' };

const rule = (verbs: string, apiGroups: string[], resources: string, more: Partial<PolicyRule> = {}): PolicyRule => ({
  verbs: verbs.split(' '),
  apiGroups,
  resources: resources.split(' '),
  ...more,
});
const urls = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ['get'], nonResourceURLs });

const read = 'get list watch';
const change = 'create delete deletecollection patch update';
const certificates = ['certificates.k8s.io'];
const rbac = ['rbac.authorization.k8s.io'];

const viewRules = [
  rule(
    read,
    [''],
    'configmaps endpoints events namespaces persistentvolumeclaims pods replicationcontrollers serviceaccounts services services/status',
  ),
  rule(read, [''], 'limitranges resourcequotas namespaces/status'),
  rule(read, ['discovery.k8s.io'], 'endpointslices'),
  rule(read, ['events.k8s.io'], 'events'),
  rule(read, ['apps'], 'daemonsets deployments replicasets statefulsets'),
  rule(read, ['autoscaling'], 'horizontalpodautoscalers'),
  rule(read, ['batch'], 'cronjobs jobs'),
  rule(read, ['networking.k8s.io'], 'ingresses networkpolicies'),
  rule(read, ['policy'], 'poddisruptionbudgets'),
];
const editRules = [
  rule(`${read} ${change}`, [''], 'secrets'),
  rule('impersonate', [''], 'serviceaccounts'),
  rule(change, [''], 'configmaps events serviceaccounts services'),
  rule('create', [''], 'serviceaccounts/token'),
  rule(`${read} ${change}`, ['coordination.k8s.io'], 'leases'),
];
const adminRules = [
  rule('create', ['authorization.k8s.io'], 'localsubjectaccessreviews'),
  rule(`${read} ${change}`, rbac, 'rolebindings roles'),
];

const aggregatedTo = (to: string) => ({ ...labels, [`rbac.authorization.k8s.io/aggregate-to-${to}`]: 'true' });
const aggregationOf = (...of: string[]) => ({
  clusterRoleSelectors: of.map((one) => ({ matchLabels: { [`rbac.authorization.k8s.io/aggregate-to-${one}`]: 'true' } })),
});

type Role = [name: string, rules: PolicyRule[], more?: { labels?: Record<string, string>; aggregationRule?: unknown }];

const clusterRoles: Role[] = [
  ['cluster-admin', [rule('*', ['*'], '*'), { verbs: ['*'], nonResourceURLs: ['*'] }]],
  ['system:aggregate-to-view', viewRules, { labels: aggregatedTo('view') }],
  ['system:aggregate-to-edit', editRules, { labels: aggregatedTo('edit') }],
  ['system:aggregate-to-admin', adminRules, { labels: aggregatedTo('admin') }],
  ['view', viewRules, { labels: aggregatedTo('edit'), aggregationRule: aggregationOf('view') }],
  ['edit', [...editRules, ...viewRules], { labels: aggregatedTo('admin'), aggregationRule: aggregationOf('edit') }],
  ['admin', [...editRules, ...adminRules, ...viewRules], { aggregationRule: aggregationOf('admin') }],
  [
    'system:discovery',
    [urls('/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*', '/readyz', '/version', '/version/')],
  ],
  ['system:public-info-viewer', [urls('/healthz', '/livez', '/readyz', '/version', '/version/')]],
  [
    'system:basic-user',
    [
      rule('create', ['authorization.k8s.io'], 'selfsubjectaccessreviews selfsubjectrulesreviews'),
      rule('create', ['authentication.k8s.io'], 'selfsubjectreviews'),
    ],
  ],
  ['system:monitoring', [urls('/metrics', '/livez/*', '/readyz/*', '/healthz/*')]],
  ['system:node-bootstrapper', [rule('create get list watch', certificates, 'certificatesigningrequests')]],
  ['system:node', []],
  ['system:service-account-issuer-discovery', [urls('/.well-known/openid-configuration', '/openid/v1/jwks')]],
  [
    'system:auth-delegator',
    [rule('create', ['authentication.k8s.io'], 'tokenreviews'), rule('create', ['authorization.k8s.io'], 'subjectaccessreviews')],
  ],
  [
    'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
    [rule('create', certificates, 'certificatesigningrequests/nodeclient')],
  ],
  [
    'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
    [rule('create', certificates, 'certificatesigningrequests/selfnodeclient')],
  ],
  ...['kube-apiserver-client', 'kube-apiserver-client-kubelet', 'kubelet-serving'].map(
    (signer): Role => [
      `system:certificates.k8s.io:${signer}-approver`,
      [rule('approve', certificates, 'signers', { resourceNames: [`kubernetes.io/${signer}`] })],
    ],
  ),
];

const bindings: [name: string, role: string, groups: string[]][] = [
  ['cluster-admin', 'cluster-admin', ['system:masters']],
  ['system:basic-user', 'system:basic-user', ['system:authenticated']],
  ['system:discovery', 'system:discovery', ['system:authenticated']],
  ['system:public-info-viewer', 'system:public-info-viewer', ['system:authenticated', 'system:unauthenticated']],
  ['system:monitoring', 'system:monitoring', ['system:monitoring']],
  ['system:service-account-issuer-discovery', 'system:service-account-issuer-discovery', ['system:serviceaccounts']],
];

export const builtInNamespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

const make = (kind: string, apiVersion: string, name: string, body: Record<string, unknown>): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name },
  ...body,
});

export const builtInRoles = (): KubeObject[] => [
  ...clusterRoles.map(([name, rules, more = {}]) =>
    make('ClusterRole', rbacVersion, name, {
      metadata: { name, labels: more.labels ?? labels, annotations },
      rules,
      ...(more.aggregationRule ? { aggregationRule: more.aggregationRule } : {}),
    }),
  ),
  ...bindings.map(([name, role, groups]) =>
    make('ClusterRoleBinding', rbacVersion, name, {
      metadata: { name, labels, annotations },
      subjects: groups.map((group) => ({ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: group })),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    }),
  ),
];

export const newNamespace = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
  spec: { finalizers: ['kubernetes'] },
  status: { phase: 'Active' },
});

export const newServiceAccount = (namespace: string, name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace },
});

/** The service through which programs in the cluster find the API. */
export const apiService = (address: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kubernetes', namespace: 'default', labels: { component: 'apiserver', provider: 'kubernetes' } },
  spec: {
    ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 }],
    clusterIP: address,
    clusterIPs: [address],
    type: 'ClusterIP',
    sessionAffinity: 'None',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    internalTrafficPolicy: 'Cluster',
  },
  status: { loadBalancer: {} },
});
