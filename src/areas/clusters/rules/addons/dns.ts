import type { WantedObject } from '../kubeadm.ts';
import { dnsAddress } from '../networks.ts';
import { parseVersion } from '../versions.ts';
import {
  type AddonContext,
  appsPath,
  clusterBinding,
  corePath,
  imageOf,
  rbac,
  rbacPath,
  serviceAccount,
  system,
  type WantedImage,
} from './parts.ts';

/** kubeadm's constant of each minor, from the oldest that is known here. */
const dnsVersions: readonly [minor: number, version: string][] = [
  [33, 'v1.12.0'],
  [34, 'v1.12.1'],
  [35, 'v1.13.1'],
  [36, 'v1.14.2'],
];

/** For a minor that is not known here, that of the nearest one before. */
export function dnsVersionOf(version: string): string {
  const minor = parseVersion(version)?.minor ?? 0;
  return (dnsVersions.findLast(([from]) => from <= minor) ?? dnsVersions[0]!)[1];
}

export const dnsImage = (version: string): WantedImage => ({ container: 'coredns', name: 'coredns/coredns', tag: dnsVersionOf(version) });

const dnsLabels = { 'k8s-app': 'kube-dns' };

const corefile = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
`;

const dnsService: WantedObject = {
  path: corePath('services'),
  object: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'kube-dns',
      namespace: system,
      labels: { ...dnsLabels, 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'CoreDNS' },
      annotations: { 'prometheus.io/port': '9153', 'prometheus.io/scrape': 'true' },
    },
    spec: {
      clusterIP: dnsAddress,
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
        { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53 },
        { name: 'metrics', port: 9153, protocol: 'TCP', targetPort: 9153 },
      ],
      selector: dnsLabels,
    },
  },
};

const dnsPorts = [
  { containerPort: 53, name: 'dns', protocol: 'UDP' },
  { containerPort: 53, name: 'dns-tcp', protocol: 'TCP' },
  { containerPort: 9153, name: 'metrics', protocol: 'TCP' },
  { containerPort: 8080, name: 'liveness-probe', protocol: 'TCP' },
  { containerPort: 8181, name: 'readiness-probe', protocol: 'TCP' },
];

function dnsDeployment(context: AddonContext): WantedObject {
  const container = {
    name: 'coredns',
    image: imageOf(context, dnsImage(context.version)),
    imagePullPolicy: 'IfNotPresent',
    resources: { limits: { memory: '170Mi' }, requests: { cpu: '100m', memory: '70Mi' } },
    args: ['-conf', '/etc/coredns/Corefile'],
    volumeMounts: [{ mountPath: '/etc/coredns', name: 'config-volume', readOnly: true }],
    ports: dnsPorts,
    livenessProbe: {
      httpGet: { path: '/health', port: 'liveness-probe', scheme: 'HTTP' },
      initialDelaySeconds: 60,
      timeoutSeconds: 5,
      successThreshold: 1,
      failureThreshold: 5,
    },
    readinessProbe: { httpGet: { path: '/ready', port: 'readiness-probe', scheme: 'HTTP' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
  };
  const apart = {
    weight: 100,
    podAffinityTerm: {
      labelSelector: { matchExpressions: [{ key: 'k8s-app', operator: 'In', values: ['kube-dns'] }] },
      topologyKey: 'kubernetes.io/hostname',
    },
  };
  const pod = {
    priorityClassName: 'system-cluster-critical',
    serviceAccountName: 'coredns',
    affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [apart] } },
    tolerations: [
      { key: 'CriticalAddonsOnly', operator: 'Exists' },
      { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' },
    ],
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    containers: [container],
    dnsPolicy: 'Default',
    volumes: [{ name: 'config-volume', configMap: { name: 'coredns', items: [{ key: 'Corefile', path: 'Corefile' }] } }],
  };
  return {
    path: appsPath('deployments'),
    object: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'coredns', namespace: system, labels: dnsLabels },
      spec: {
        replicas: 2,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
        selector: { matchLabels: dnsLabels },
        template: { metadata: { labels: dnsLabels }, spec: pod },
      },
    },
  };
}

export function dnsObjects(context: AddonContext): WantedObject[] {
  const watched = (apiGroups: string[], resources: string[]) => ({ apiGroups, resources, verbs: ['list', 'watch'] });
  return [
    // The first of all: in a cluster whose own DNS has the address, nothing is made.
    dnsService,
    serviceAccount('coredns', context),
    {
      path: rbacPath('clusterroles'),
      object: {
        apiVersion: rbac,
        kind: 'ClusterRole',
        metadata: { name: 'system:coredns' },
        rules: [watched([''], ['endpoints', 'services', 'pods', 'namespaces']), watched(['discovery.k8s.io'], ['endpointslices'])],
      },
    },
    clusterBinding('system:coredns', 'system:coredns', 'coredns'),
    {
      path: corePath('configmaps'),
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'coredns', namespace: system }, data: { Corefile: corefile } },
    },
    dnsDeployment(context),
  ];
}
