import { isIP } from 'node:net';
import { apiHosts } from './networks.ts';

/** A certificate request: its Kubernetes fields and those of its PKCS #10. */
export interface CertificateRequest {
  signer: string;
  username: string;
  usages: readonly string[];
  commonName: string;
  organizations: readonly string[];
  dnsNames: readonly string[];
  addresses: readonly string[];
  /** Alternative names of other kinds: mail addresses, URIs. */
  hasOtherNames: boolean;
}

export type Verdict =
  /** A node joins with this token. */
  | { is: 'join'; token: string; node: string }
  /** A node renews its own certificate. */
  | { is: 'renewal'; node: string }
  /** A node requests a serving certificate for these names, which must be its own. */
  | { is: 'serving'; node: string; names: readonly string[] }
  | { is: 'denied'; reason: string; message: string }
  /** Left to the cluster's administrators. */
  | { is: 'foreign' };

const clientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';
const servingSigner = 'kubernetes.io/kubelet-serving';
const nodePrefix = 'system:node:';
const nodeName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

export const isNodeName = (text: string): boolean => nodeName.test(text);

const deny = (reason: string, message: string): Verdict => ({ is: 'denied', reason, message });

export function judgeRequest(request: CertificateRequest): Verdict {
  if (request.signer === clientSigner) return judgeClient(request);
  if (request.signer === servingSigner) return judgeServing(request);
  return { is: 'foreign' };
}

export const isNodeSigner = (signer: string): boolean => signer === clientSigner || signer === servingSigner;

/** Valid certificates per node; a kubelet requests two every few days. */
const maxPerNode = 50;
/** Recorded certificates per cluster. Each row stays for the week until it expires, and refused ones are read every second. */
export const maxPerCluster = (nodes: number): number => 1_000 + 10 * nodes;

/** Why a node gets no further certificate, if it is over a limit. */
export function refuseMore(node: string, count: { of_node: number; of_cluster: number }, max: number) {
  if (count.of_node >= maxPerNode)
    return { reason: 'TooManyCertificates', message: `node ${node} has ${count.of_node} certificates that are good; use one of them` };
  return count.of_cluster >= max
    ? {
        reason: 'TooManyCertificates',
        message: `the cluster’s nodes were given ${count.of_cluster} certificates within a week, as many as its tier allows; try again when some have expired`,
      }
    : undefined;
}

function judgeClient(request: CertificateRequest): Verdict {
  const bootstrap = /^system:bootstrap:([a-z0-9]{6})$/.exec(request.username)?.[1];
  const renews = request.username.startsWith(nodePrefix);
  if (!bootstrap && !renews) return { is: 'foreign' };
  const node = nodeOf(request);
  if (node === undefined) return deny('NotANode', 'the subject must be CN=system:node:<name>, O=system:nodes');
  if (request.dnsNames.length || request.addresses.length || request.hasOtherNames)
    return deny('UnexpectedNames', 'a node’s client certificate has no alternative names');
  if (!hasUsages(request, 'client auth'))
    return deny('UnexpectedUsages', 'the usages must be digital signature and client auth, key encipherment at most beside them');
  if (bootstrap) return { is: 'join', token: bootstrap, node };
  return request.username === request.commonName
    ? { is: 'renewal', node }
    : deny('AnotherNode', `${request.username} may ask for a certificate of its own name only`);
}

function judgeServing(request: CertificateRequest): Verdict {
  if (!request.username.startsWith(nodePrefix)) return { is: 'foreign' };
  const node = nodeOf(request);
  if (node === undefined || request.username !== request.commonName)
    return deny('AnotherNode', 'a node may ask for a serving certificate of its own name only');
  if (!hasUsages(request, 'server auth'))
    return deny('UnexpectedUsages', 'the usages must be digital signature and server auth, key encipherment at most beside them');
  const names = [...request.dnsNames, ...request.addresses];
  if (names.length === 0 || request.hasOtherNames)
    return deny('UnexpectedNames', 'a serving certificate names DNS names and addresses, at least one');
  return { is: 'serving', node, names };
}

function nodeOf({ commonName, organizations }: CertificateRequest): string | undefined {
  const name = commonName.startsWith(nodePrefix) ? commonName.slice(nodePrefix.length) : '';
  return nodeName.test(name) && organizations.length === 1 && organizations[0] === 'system:nodes' ? name : undefined;
}

function hasUsages({ usages }: CertificateRequest, own: string): boolean {
  const wanted = new Set(['digital signature', own]);
  return usages.every((usage) => wanted.has(usage) || usage === 'key encipherment') && [...wanted].every((usage) => usages.includes(usage));
}

/** Names that no node may serve under, whatever addresses it reports: loopback, link-local, multicast, wildcards and the like. */
const shared = /^(\*|::ffff:|localhost|127\.|0\.|169\.254\.|22[4-9]\.|23\d\.|::1?$|fe[89ab][0-9a-f]:|ff[0-9a-f]{2}:)/i;

/** Names of Services, and addresses in their range (10.96.0.0/12), which no node has. */
const ofServices = /(^|\.)svc(\.cluster\.local)?\.?$|^10\.(9[6-9]|10\d|11[01])\./i;

/**
 * Names under which clients look for the cluster's API: with a certificate for one, a node could pose as it. An address of the endpoint is
 * not among them, because a machine may be the server and a node at once.
 */
export const namesOfApi = (names: readonly string[], hosts: readonly string[]): string[] => {
  const taken = new Set([...apiHosts, ...hosts.filter((host) => isIP(host) === 0)].map((each) => each.toLowerCase()));
  return names.filter((name) => taken.has(name.toLowerCase().replace(/\.$/, '')) || ofServices.test(name));
};

/** The names that are not the node's own. */
export const namesNotOwned = (names: readonly string[], own: readonly string[]): string[] => {
  const known = new Set(own.map((each) => each.toLowerCase()));
  return names.filter((name) => !known.has(name.toLowerCase()) || shared.test(name));
};
