import { createHash, createPublicKey } from 'node:crypto';

/** A certificate with its key, in PEM. */
export interface Pair {
  certificate: string;
  key: string;
}

/** What the programs of a cluster know each other by. Nothing of it is good at the cluster's own listener, or for a node. */
export interface InnerKeys {
  /** Signs what the programs show each other. */
  authority: Pair;
  /** Signs what says of whom a request is: the server's front alone, and apiservers that speak for a caller. */
  frontAuthority: Pair;
  apiserver: Pair;
  front: Pair;
  admin: Pair;
  controllerManager: Pair;
  scheduler: Pair;
  /** Of the cluster's authority: kubelets trust no other. */
  kubeletClient: Pair;
  /** Seals Secrets in the store: 32 bytes in base64. It never changes. */
  storeKey: string;
}

export interface FileSource {
  ca: Pair;
  accountKey: string;
  inner: InnerKeys;
  /** Where apiservers find the way out to nodes and webhooks. */
  egressSocket: string;
}

/** Every file that the programs of a cluster read, by name. */
export function filesOf({ ca, accountKey, inner, egressSocket }: FileSource): Record<string, string> {
  const pairs = {
    apiserver: inner.apiserver,
    front: inner.front,
    'kubelet-client': inner.kubeletClient,
    'controller-manager': inner.controllerManager,
    scheduler: inner.scheduler,
    cluster: ca,
  };
  const files: Record<string, string> = {
    'inner-authority.crt': inner.authority.certificate,
    'front-authority.crt': inner.frontAuthority.certificate,
    'accounts.key': accountKey,
    'accounts.pub': createPublicKey(accountKey).export({ type: 'spki', format: 'pem' }) as string,
    'store.json': JSON.stringify(sealingConfiguration(inner.storeKey)),
    'egress.json': JSON.stringify(egressConfiguration(egressSocket)),
    'controller-manager.kubeconfig': JSON.stringify(kubeconfigFor('controller-manager')),
    'scheduler.kubeconfig': JSON.stringify(kubeconfigFor('scheduler')),
  };
  for (const [name, { certificate, key }] of Object.entries(pairs))
    Object.assign(files, { [`${name}.crt`]: certificate, [`${name}.key`]: key });
  return files;
}

/** The same files have the same name, whoever writes them. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}

const sealingConfiguration = (secret: string) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [{ resources: ['secrets'], providers: [{ secretbox: { keys: [{ name: 'first', secret }] } }, { identity: {} }] }],
});

/** Names of files are looked for beside the file itself; the server is named in the arguments. */
const kubeconfigFor = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'own', cluster: { server: 'https://127.0.0.1', 'certificate-authority': 'inner-authority.crt' } }],
  users: [{ name, user: { 'client-certificate': `${name}.crt`, 'client-key': `${name}.key` } }],
  contexts: [{ name: 'own', context: { cluster: 'own', user: name } }],
  'current-context': 'own',
});

/** Not a word of the store: an apiserver that is told how to dial it, even directly, cannot dial a unix socket any more. */
const egressConfiguration = (socket: string) => {
  const outward = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName: socket } } };
  return {
    apiVersion: 'apiserver.k8s.io/v1beta1',
    kind: 'EgressSelectorConfiguration',
    egressSelections: [
      { name: 'cluster', connection: outward },
      { name: 'controlplane', connection: outward },
    ],
  };
};
