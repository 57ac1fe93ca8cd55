import { isIP } from 'node:net';
import { dnsAddress, podRange, serviceRange } from './networks.ts';
import { parseVersion } from './versions.ts';

/** A Kubernetes object as it is sent. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  [field: string]: unknown;
}

export interface WantedObject {
  /** The path of its collection. */
  path: string;
  object: KubeObject;
  /** Fields that are written again if they are changed, or were made for another address. */
  corrected?: readonly string[];
}

/** The user name of apiservers at kubelets. */
export const kubeletClientName = 'kube-apiserver-kubelet-client';

/** The namespace of users' service accounts. */
export const ownNamespace = 'quarterdeck-system';

const rbac = 'rbac.authorization.k8s.io/v1';
const inNamespace = (namespace: string, resource: string) => `/api/v1/namespaces/${namespace}/${resource}`;
const rbacPath = (namespace: string, resource: string) => `/apis/${rbac}/namespaces/${namespace}/${resource}`;
const group = (name: string) => ({ kind: 'Group', name, apiGroup: 'rbac.authorization.k8s.io' });
const joiningGroup = 'system:bootstrappers:kubeadm:default-node-token';

const namespace = (name: string): WantedObject => ({
  path: '/api/v1/namespaces',
  object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
});

/** A role that lets groups read one ConfigMap, and its binding. */
function readAccess(name: string, at: string, configMap: string, subjects: unknown[]): WantedObject[] {
  return [
    {
      path: rbacPath(at, 'roles'),
      object: {
        apiVersion: rbac,
        kind: 'Role',
        metadata: { name, namespace: at },
        rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [configMap], verbs: ['get'] }],
      },
    },
    {
      path: rbacPath(at, 'rolebindings'),
      object: {
        apiVersion: rbac,
        kind: 'RoleBinding',
        metadata: { name, namespace: at },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
        subjects,
      },
    },
  ];
}

const clusterRole = (name: string, rules: unknown[]): WantedObject => ({
  path: `/apis/${rbac}/clusterroles`,
  object: { apiVersion: rbac, kind: 'ClusterRole', metadata: { name }, rules },
});

const clusterBinding = (name: string, role: string, subjects: unknown[]): WantedObject => ({
  path: `/apis/${rbac}/clusterrolebindings`,
  object: {
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects,
  },
});

export const configMap = (name: string, at: string, data: Record<string, string>): WantedObject => ({
  path: inNamespace(at, 'configmaps'),
  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: at }, data },
  corrected: ['data'],
});

/** Lets apiservers use kubelets: logs, exec, port-forward. */
const kubeletAccess = clusterBinding('quarterdeck:kubelet-client', 'system:kubelet-api-admin', [
  { kind: 'User', name: kubeletClientName, apiGroup: 'rbac.authorization.k8s.io' },
]);

/**
 * Points the service `kubernetes` at the front, for pods. An apiserver's own reconcilers would write its address, 127.0.0.1, which Kubernetes
 * refuses in endpoints, as it refuses names: then there are none. The label keeps the controller from making a second EndpointSlice.
 */
function reachingFromPods(endpoint: string): WantedObject[] {
  const { hostname, port } = new URL(endpoint);
  const address = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  if (family === 0 || address.startsWith('127.') || address === '::1') return [];
  const ports = [{ name: 'https', port: Number(port || 443), protocol: 'TCP' }];
  const metadata = { name: 'kubernetes', namespace: 'default' };
  return [
    {
      path: inNamespace('default', 'endpoints'),
      object: {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { ...metadata, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
        subsets: [{ addresses: [{ ip: address }], ports }],
      },
      corrected: ['subsets'],
    },
    {
      path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
      object: {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
        addressType: family === 6 ? 'IPv6' : 'IPv4',
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
        ports,
      },
      corrected: ['endpoints', 'ports'],
    },
  ];
}

/** Objects that `kubeadm join` reads before the kubelet starts and that control planes do not create by themselves. */
export function kubeadmObjects({ name, endpoint, version }: { name: string; endpoint: string; version: string }): WantedObject[] {
  const v = parseVersion(version);
  const plain = v ? `v${v.major}.${v.minor}.${v.patch}` : version;
  const clusterConfiguration = {
    apiVersion: 'kubeadm.k8s.io/v1beta4',
    kind: 'ClusterConfiguration',
    clusterName: name,
    kubernetesVersion: plain,
    controlPlaneEndpoint: new URL(endpoint).host,
    certificatesDir: '/etc/kubernetes/pki',
    imageRepository: 'registry.k8s.io',
    networking: { dnsDomain: 'cluster.local', serviceSubnet: serviceRange, podSubnet: podRange },
    apiServer: {},
    controllerManager: {},
    scheduler: {},
    etcd: { local: { dataDir: '/var/lib/etcd' } },
    dns: {},
    proxy: {},
  };
  const kubeletConfiguration = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' } },
    authorization: { mode: 'Webhook' },
    clusterDNS: [dnsAddress],
    clusterDomain: 'cluster.local',
    cgroupDriver: 'systemd',
    rotateCertificates: true,
    serverTLSBootstrap: true,
    staticPodPath: '/etc/kubernetes/manifests',
  };
  return [
    // An apiserver creates its own namespaces only a moment after it is ready.
    ...[ownNamespace, 'default', 'kube-system', 'kube-public', 'kube-node-lease'].map(namespace),
    ...(v?.driver === 'process' ? [kubeletAccess] : []),
    ...reachingFromPods(endpoint),
    clusterRole('kubeadm:get-nodes', [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }]),
    clusterBinding('kubeadm:get-nodes', 'kubeadm:get-nodes', [group(joiningGroup)]),
    clusterBinding('kubeadm:kubelet-bootstrap', 'system:node-bootstrapper', [group(joiningGroup)]),
    ...readAccess('kubeadm:bootstrap-signer-clusterinfo', 'kube-public', 'cluster-info', [
      { kind: 'User', name: 'system:anonymous', apiGroup: 'rbac.authorization.k8s.io' },
    ]),
    ...readAccess('kubeadm:kubelet-config', 'kube-system', 'kubelet-config', [group('system:nodes'), group(joiningGroup)]),
    ...readAccess('kubeadm:nodes-kubeadm-config', 'kube-system', 'kubeadm-config', [group('system:nodes'), group(joiningGroup)]),
    configMap('kubeadm-config', 'kube-system', { ClusterConfiguration: JSON.stringify(clusterConfiguration) }),
    configMap('kubelet-config', 'kube-system', { kubelet: JSON.stringify(kubeletConfiguration) }),
  ];
}
