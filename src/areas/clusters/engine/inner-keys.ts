import { randomBytes } from 'node:crypto';
import type { EtcdKeys, InnerKeys, Pair } from '../../../drivers/keys.ts';
import { kubeletClientName } from '../rules/kubeadm.ts';
import { makeAuthority, makeLeaf, newKey } from './issue.ts';

const names = { authority: 'quarterdeck-inner', front: 'quarterdeck-front-authority', etcd: 'quarterdeck-etcd' };

/** The common name whose X-Remote headers apiservers trust. */
export const frontName = 'quarterdeck-front';

const loopback = ['127.0.0.1', 'localhost'];

/** The authority's key stays: during a renewal members with old and new certificates trust each other. */
function makeEtcdKeys(known?: EtcdKeys): EtcdKeys {
  const { certificate, key } = makeAuthority(names.etcd, known?.authority.key ?? newKey());
  const authority = { certificate, key, commonName: names.etcd };
  const leaf = (commonName: string, usage: 'both' | 'client') =>
    makeLeaf(authority, { subject: { commonName }, usage, ...(usage === 'both' ? { hosts: loopback } : {}) });
  return {
    authority: { certificate, key },
    // etcd's HTTP gateway calls the member itself with this certificate.
    server: leaf('etcd', 'both'),
    peer: leaf('etcd-peer', 'both'),
    client: leaf('quarterdeck-etcd-client', 'client'),
  };
}

/** Makes all certificates anew. The authorities' keys and the key that seals the store stay the same. `onEtcd`: with those of an etcd. */
export function makeInnerKeys(ca: Pair & { commonName: string }, known?: InnerKeys, { onEtcd = false } = {}): InnerKeys {
  const authority = { ...makeAuthority(names.authority, known?.authority.key ?? newKey()), commonName: names.authority };
  const front = { ...makeAuthority(names.front, known?.frontAuthority.key ?? newKey()), commonName: names.front };
  const client = (commonName: string, ...organizations: string[]) =>
    makeLeaf(authority, { subject: { commonName, organizations }, usage: 'client' });
  return {
    authority: { certificate: authority.certificate, key: authority.key },
    frontAuthority: { certificate: front.certificate, key: front.key },
    apiserver: makeLeaf(authority, { subject: { commonName: 'kube-apiserver' }, usage: 'server', hosts: loopback }),
    front: makeLeaf(front, { subject: { commonName: frontName }, usage: 'client' }),
    admin: client('system:quarterdeck', 'system:masters'),
    controllerManager: client('system:kube-controller-manager'),
    scheduler: client('system:kube-scheduler'),
    kubeletClient: makeLeaf(ca, { subject: { commonName: kubeletClientName }, usage: 'client' }),
    ...(onEtcd || known?.etcd ? { etcd: makeEtcdKeys(known?.etcd) } : {}),
    storeKey: known?.storeKey ?? randomBytes(32).toString('base64'),
  };
}
