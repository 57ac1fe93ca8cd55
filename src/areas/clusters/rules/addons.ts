import type { KubeObject, WantedObject } from './kubeadm.ts';
import { dnsAddress, podRange } from './networks.ts';
import { compareVersions, parseVersion } from './versions.ts';

// kube-proxy and CoreDNS as kubeadm lays them down in a new cluster (cmd/kubeadm/app/phases/addons). Compared with the output of
// `kubeadm init phase addon … --print-manifest` by test/clients/go.

export interface AddonContext {
  version: string;
  endpoint: string;
  /** Where images come from: a registry, or a path in one, with the names that registry.k8s.io has. */
  images: string;
  /** Nodes log in there. */
  login?: string | undefined;
}

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

const proxyImage = (version: string) => ({ container: 'kube-proxy', name: 'kube-proxy', tag: version });
const dnsImage = (version: string) => ({ container: 'coredns', name: 'coredns/coredns', tag: dnsVersionOf(version) });

const system = 'kube-system';
const rbacGroup = 'rbac.authorization.k8s.io';
const rbac = `${rbacGroup}/v1`;
const corePath = (plural: string) => `/api/v1/namespaces/${system}/${plural}`;
const appsPath = (plural: string) => `/apis/apps/v1/namespaces/${system}/${plural}`;
const rbacPath = (plural: string) => `/apis/${rbac}/${plural}`;
const account = (name: string) => ({ kind: 'ServiceAccount', name, namespace: system });

/** The Secret with the login for images. */
export const imageLogin = 'quarterdeck-images';

const serviceAccount = (name: string, { login }: AddonContext): WantedObject => ({
  path: corePath('serviceaccounts'),
  object: {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace: system },
    ...(login ? { imagePullSecrets: [{ name: imageLogin }] } : {}),
  },
});

const clusterBinding = (name: string, role: string, to: string): WantedObject => ({
  path: rbacPath('clusterrolebindings'),
  object: {
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
    subjects: [account(to)],
  },
});

/** The login for images, which follows the setting; undefined: there is none. */
export function imageLoginSecret({ images, login }: Pick<AddonContext, 'images' | 'login'>): WantedObject | undefined {
  if (!login) return undefined;
  const [registry = ''] = images.split('/');
  const auths = { auths: { [registry]: { auth: Buffer.from(login).toString('base64') } } };
  return {
    path: corePath('secrets'),
    object: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: imageLogin, namespace: system },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(JSON.stringify(auths)).toString('base64') },
    },
    corrected: ['data'],
  };
}

/** As kubeadm writes it, with every default: users edit this text (`strictARP`, `mode`). */
const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: ${podRange}
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpBeLiberal: false
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: null
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  localhostNodePorts: null
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 0s
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: ""
mode: ""
nftables:
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  forwardHealthCheckVip: false
  networkName: ""
  rootHnsEndpointName: ""
  sourceVip: ""`;

const proxyKubeconfig = (endpoint: string) => `apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: ${endpoint}
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token`;

const imageOf = ({ images }: AddonContext, { name, tag }: { name: string; tag: string }) => `${images}/${name}:${tag}`;

function proxyDaemonSet(context: AddonContext): WantedObject {
  const labels = { 'k8s-app': 'kube-proxy' };
  const container = {
    name: 'kube-proxy',
    image: imageOf(context, proxyImage(context.version)),
    imagePullPolicy: 'IfNotPresent',
    command: ['/usr/local/bin/kube-proxy', '--config=/var/lib/kube-proxy/config.conf', '--hostname-override=$(NODE_NAME)'],
    securityContext: { privileged: true },
    volumeMounts: [
      { mountPath: '/var/lib/kube-proxy', name: 'kube-proxy' },
      { mountPath: '/run/xtables.lock', name: 'xtables-lock', readOnly: false },
      { mountPath: '/lib/modules', name: 'lib-modules', readOnly: true },
    ],
    env: [{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
  };
  const pod = {
    priorityClassName: 'system-node-critical',
    containers: [container],
    hostNetwork: true,
    serviceAccountName: 'kube-proxy',
    volumes: [
      { name: 'kube-proxy', configMap: { name: 'kube-proxy' } },
      { name: 'xtables-lock', hostPath: { path: '/run/xtables.lock', type: 'FileOrCreate' } },
      { name: 'lib-modules', hostPath: { path: '/lib/modules' } },
    ],
    tolerations: [{ operator: 'Exists' }],
    nodeSelector: { 'kubernetes.io/os': 'linux' },
  };
  return {
    path: appsPath('daemonsets'),
    object: {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'kube-proxy', namespace: system, labels },
      spec: {
        selector: { matchLabels: labels },
        updateStrategy: { type: 'RollingUpdate' },
        template: { metadata: { labels }, spec: pod },
      },
    },
  };
}

function proxyObjects(context: AddonContext): WantedObject[] {
  const name = 'kube-proxy';
  const metadata = { name, namespace: system };
  return [
    serviceAccount(name, context),
    clusterBinding('kubeadm:node-proxier', 'system:node-proxier', name),
    {
      path: rbacPath(`namespaces/${system}/roles`),
      object: {
        apiVersion: rbac,
        kind: 'Role',
        metadata,
        rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get'] }],
      },
    },
    {
      path: rbacPath(`namespaces/${system}/rolebindings`),
      object: {
        apiVersion: rbac,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: rbacGroup, kind: 'Role', name },
        subjects: [{ apiGroup: rbacGroup, kind: 'Group', name: 'system:bootstrappers:kubeadm:default-node-token' }],
      },
    },
    {
      path: corePath('configmaps'),
      object: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...metadata, labels: { app: name } },
        data: { 'kubeconfig.conf': proxyKubeconfig(context.endpoint), 'config.conf': proxyConfig },
      },
    },
    proxyDaemonSet(context),
  ];
}

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

function dnsObjects(context: AddonContext): WantedObject[] {
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

/** In the order in which they are made. */
export const addonObjects = (context: AddonContext): WantedObject[] => [...dnsObjects(context), ...proxyObjects(context)];

/** The workloads whose images follow the cluster's version. */
export const addonWorkloads = (version: string) => [
  { path: `${appsPath('daemonsets')}/kube-proxy`, image: proxyImage(version) },
  { path: `${appsPath('deployments')}/coredns`, image: dnsImage(version) },
];

interface WantedImage {
  container: string;
  name: string;
  tag: string;
}

/** The image with the newer tag; undefined: its tag is as new, or names no version (a digest, a tag of the tenant's own). */
export function raiseTag(image: unknown, { tag }: Pick<WantedImage, 'tag'>): string | undefined {
  if (typeof image !== 'string') return undefined;
  const colon = image.lastIndexOf(':');
  const [found, wanted] = [parseVersion(image.slice(colon + 1)), parseVersion(tag)];
  if (colon < 0 || !found || !wanted || compareVersions(found, wanted) >= 0) return undefined;
  return `${image.slice(0, colon)}:${tag}`;
}

/** The workload with the newer image; undefined: it stays as it is. Everything else in it is the tenant's. */
export function withNewerImage(workload: KubeObject, image: WantedImage): KubeObject | undefined {
  const spec = workload['spec'] as { template?: { spec?: { containers?: unknown } } } | undefined;
  const containers = spec?.template?.spec?.containers;
  if (!Array.isArray(containers)) return undefined;
  const raised = containers.map((each) => {
    const newer = each?.name === image.container ? raiseTag(each.image, image) : undefined;
    return newer === undefined ? each : { ...each, image: newer };
  });
  if (raised.every((each, n) => each === containers[n])) return undefined;
  return { ...workload, spec: { ...spec, template: { ...spec!.template, spec: { ...spec!.template!.spec, containers: raised } } } };
}
