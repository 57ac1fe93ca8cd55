import { randomBytes } from 'node:crypto';
import type { InnerKeys, Pair } from '../../../drivers/keys.ts';
import { kubeletClientName } from '../rules/kubeadm.ts';
import { makeAuthority, makeLeaf, newKey } from './issue.ts';

const names = { authority: 'quarterdeck-inner', front: 'quarterdeck-front-authority' };

/** The common name whose X-Remote headers apiservers trust. */
export const frontName = 'quarterdeck-front';

/** Makes all certificates anew. The authorities' keys and the key that seals the store stay the same. */
export function makeInnerKeys(ca: Pair & { commonName: string }, known?: InnerKeys): InnerKeys {
  const authority = { ...makeAuthority(names.authority, known?.authority.key ?? newKey()), commonName: names.authority };
  const front = { ...makeAuthority(names.front, known?.frontAuthority.key ?? newKey()), commonName: names.front };
  const client = (commonName: string, ...organizations: string[]) =>
    makeLeaf(authority, { subject: { commonName, organizations }, usage: 'client' });
  return {
    authority: { certificate: authority.certificate, key: authority.key },
    frontAuthority: { certificate: front.certificate, key: front.key },
    apiserver: makeLeaf(authority, { subject: { commonName: 'kube-apiserver' }, usage: 'server', hosts: ['127.0.0.1', 'localhost'] }),
    front: makeLeaf(front, { subject: { commonName: frontName }, usage: 'client' }),
    admin: client('system:quarterdeck', 'system:masters'),
    controllerManager: client('system:kube-controller-manager'),
    scheduler: client('system:kube-scheduler'),
    kubeletClient: makeLeaf(ca, { subject: { commonName: kubeletClientName }, usage: 'client' }),
    storeKey: known?.storeKey ?? randomBytes(32).toString('base64'),
  };
}
