import type { Json } from './object.ts';
import { textOf, textsOf } from './object.ts';

// Which approved requests are signed, by the rules of kube-controller-manager's signers.

export const signers = {
  client: 'kubernetes.io/kube-apiserver-client',
  kubelet: 'kubernetes.io/kube-apiserver-client-kubelet',
  serving: 'kubernetes.io/kubelet-serving',
};

export const usagesOf = (spec: Json): string[] => textsOf(spec['usages']);

const nodePrefix = 'system:node:';
const alwaysAllowedUsages = ['digital signature', 'key encipherment'];

const hasOnlyUsage = (usages: string[], needed: string) =>
  usages.includes(needed) && usages.every((one) => one === needed || alwaysAllowedUsages.includes(one));

/** The checked parts of a signing request. */
export interface RequestedCertificate {
  commonName: string;
  organizations: readonly string[];
  dnsNames: readonly string[];
  addresses: readonly string[];
  hasOtherNames: boolean;
}

/** Undefined: sign it. `not ours`: this signer is not implemented here. Otherwise the reason for the refusal. */
export function checkSigningRequest(signer: string, request: RequestedCertificate, spec: Json): string | undefined {
  const usages = usagesOf(spec);
  const isNode =
    request.commonName.startsWith(nodePrefix) &&
    request.commonName.length > nodePrefix.length &&
    request.organizations.length === 1 &&
    request.organizations[0] === 'system:nodes';
  const hasNames = request.dnsNames.length + request.addresses.length > 0 || request.hasOtherNames;
  if (signer === signers.kubelet) {
    if (!isNode) return 'the subject must be CN=system:node:<name>, O=system:nodes';
    if (hasNames) return 'a client certificate of a node has no alternative names';
    return hasOnlyUsage(usages, 'client auth') ? undefined : 'usages must be client auth, digital signature and key encipherment at most';
  }
  if (signer === signers.serving) {
    if (!isNode) return 'the subject must be CN=system:node:<name>, O=system:nodes';
    if (textOf(spec['username']) !== request.commonName) return 'a node asks for its serving certificate itself';
    if (!hasNames || request.hasOtherNames) return 'a serving certificate has DNS names or addresses, and no others';
    return hasOnlyUsage(usages, 'server auth') ? undefined : 'usages must be server auth, digital signature and key encipherment at most';
  }
  if (signer === signers.client) {
    if (request.organizations.includes('system:masters')) return 'system:masters is not given by certificates of this signer';
    return hasOnlyUsage(usages, 'client auth') ? undefined : 'usages must be client auth, digital signature and key encipherment at most';
  }
  return 'not ours';
}
