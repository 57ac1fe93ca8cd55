import type { WantedObject } from '../kubeadm.ts';
import { podRange } from '../networks.ts';
import {
  type AddonContext,
  appsPath,
  clusterBinding,
  corePath,
  imageOf,
  rbac,
  rbacGroup,
  rbacPath,
  serviceAccount,
  system,
  type WantedImage,
} from './parts.ts';

export const proxyImage = (version: string): WantedImage => ({ container: 'kube-proxy', name: 'kube-proxy', tag: version });

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

export function proxyObjects(context: AddonContext): WantedObject[] {
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
        subjects: [{ kind: 'Group', name: 'system:bootstrappers:kubeadm:default-node-token' }],
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
