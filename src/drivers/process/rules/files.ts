import { createHash, createPublicKey } from 'node:crypto';
import type { EtcdKeys, InnerKeys, Pair } from '../../keys.ts';

export interface FileSource {
  ca: Pair;
  accountKey: string;
  inner: InnerKeys;
  /** The egress proxy, by which apiservers reach nodes and webhooks. */
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
    ...(inner.etcd ? etcdFiles(inner.etcd) : {}),
    'accounts.key': accountKey,
    'accounts.pub': createPublicKey(accountKey).export({ type: 'spki', format: 'pem' }) as string,
    'store.json': JSON.stringify(sealingConfiguration(inner.storeKey)),
    'egress.json': JSON.stringify(egressConfiguration(egressSocket)),
    'controller-manager.kubeconfig': JSON.stringify(kubeconfigFor('controller-manager')),
    'scheduler.kubeconfig': JSON.stringify(kubeconfigFor('scheduler')),
  };
  return { ...files, ...pairFiles(pairs) };
}

/** Of an etcd's members, and of their clients. */
export const etcdFiles = ({ authority, server, peer, client }: EtcdKeys): Record<string, string> => ({
  'etcd-authority.crt': authority.certificate,
  ...pairFiles({ etcd: server, 'etcd-peer': peer, 'etcd-client': client }),
});

const pairFiles = (pairs: Record<string, Pair>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(pairs).flatMap(([name, { certificate, key }]) => [
      [`${name}.crt`, certificate],
      [`${name}.key`, key],
    ]),
  );

/** The same content has the same hash on every server. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}

const sealingConfiguration = (secret: string) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [{ resources: ['secrets'], providers: [{ secretbox: { keys: [{ name: 'first', secret }] } }, { identity: {} }] }],
});

/** File names are relative to the kubeconfig; the server's address is in the arguments. */
const kubeconfigFor = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'own', cluster: { server: 'https://127.0.0.1', 'certificate-authority': 'inner-authority.crt' } }],
  users: [{ name, user: { 'client-certificate': `${name}.crt`, 'client-key': `${name}.key` } }],
  contexts: [{ name: 'own', context: { cluster: 'own', user: name } }],
  'current-context': 'own',
});

/** Without an entry for etcd: with one, even a direct one, an apiserver can no longer dial a unix socket. */
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
