import { forbiddenError } from '../../status.ts';
import type { KubeObject } from './object.ts';
import { textOf } from './object.ts';
import type { Attributes, UserInfo } from './rbac.ts';

// Permissions of nodes: Kubernetes' node authorizer, and the NodeRestriction admission plugin.

const prefix = 'system:node:';

/** The node's name, if the user is a node. */
export const nodeNameOf = ({ name, groups }: UserInfo): string | undefined =>
  name.startsWith(prefix) && name.length > prefix.length && groups.includes('system:nodes') ? name.slice(prefix.length) : undefined;

const readVerbs = ['get', 'list', 'watch'];
const isOneOf = (list: readonly string[], verb: string) => list.includes(verb);

/** What every node may read and create, reviews of its own clients included. */
const commonGrants: readonly [group: string, resources: readonly string[], verbs: readonly string[]][] = [
  ['', ['services'], readVerbs],
  ['', ['persistentvolumes', 'persistentvolumeclaims'], ['get']],
  ['', ['events'], ['create', 'patch', 'update']],
  ['events.k8s.io', ['events'], ['create', 'patch', 'update']],
  ['certificates.k8s.io', ['certificatesigningrequests'], ['create', ...readVerbs]],
  ['node.k8s.io', ['runtimeclasses'], readVerbs],
  ['storage.k8s.io', ['csidrivers'], readVerbs],
  ['storage.k8s.io', ['volumeattachments'], ['get']],
  ['authentication.k8s.io', ['tokenreviews'], ['create']],
  ['authorization.k8s.io', ['subjectaccessreviews', 'localsubjectaccessreviews'], ['create']],
];

/** `selectedName`: the name that a list or watch is narrowed to. */
export function isNodeAllowed(node: string, a: Attributes, selectedName: string | undefined): boolean {
  if (a.path !== undefined) return false;
  const isOwn = (a.name || selectedName) === node;
  if (a.group === '' && a.resource === 'nodes') {
    if (a.subresource === 'status') return isOwn && isOneOf(['get', 'patch', 'update'], a.verb);
    return a.subresource === '' && (a.verb === 'create' || (isOwn && isOneOf([...readVerbs, 'patch', 'update'], a.verb)));
  }
  // There are no pods; a kubelet lists its own by `spec.nodeName`.
  if (a.group === '' && a.resource === 'pods') return a.subresource === '' && isOneOf(readVerbs, a.verb);
  if (a.group === 'coordination.k8s.io' && a.resource === 'leases')
    return a.namespace === 'kube-node-lease' && (a.verb === 'create' || (isOwn && isOneOf(['get', 'patch', 'update', 'delete'], a.verb)));
  if (a.group === 'storage.k8s.io' && a.resource === 'csinodes')
    return a.verb === 'create' || (isOwn && isOneOf([...readVerbs, 'patch', 'update', 'delete'], a.verb));
  if (a.subresource !== '') return false;
  return commonGrants.some(([group, resources, verbs]) => group === a.group && resources.includes(a.resource) && verbs.includes(a.verb));
}

const restrictedKinds: Record<string, { group: string; plural: string }> = {
  Node: { group: '', plural: 'nodes' },
  Lease: { group: 'coordination.k8s.io', plural: 'leases' },
  CSINode: { group: 'storage.k8s.io', plural: 'csinodes' },
};

/** Labels under Kubernetes' domains that a node may set on itself. */
const ownLabels = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.kubernetes.io/region',
  'failure-domain.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);

const isReserved = (label: string): boolean => {
  const domain = label.includes('/') ? label.slice(0, label.indexOf('/')) : '';
  if (!/(^|\.)(kubernetes\.io|k8s\.io)$/.test(domain)) return false;
  if (/(^|\.)node-restriction\.kubernetes\.io$/.test(domain)) return true;
  return !ownLabels.has(label) && !/(^|\.)(kubelet|node)\.kubernetes\.io$/.test(domain);
};

const isSameJson = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

/** Throws if the node must not write this object. */
export function restrictNode(node: string, object: KubeObject, before: KubeObject | undefined): void {
  const of = restrictedKinds[object.kind];
  if (!of) return;
  const { name } = object.metadata;
  const refuse = (why: string) => {
    throw forbiddenError(of, name, `node "${node}" is not allowed to ${why}`);
  };
  if (name !== node) refuse(`write ${of.plural} of another name than its own`);
  if (object.kind !== 'Node') return;
  const [labels, previousLabels] = [object.metadata.labels ?? {}, before?.metadata.labels ?? {}];
  const changed = [...new Set([...Object.keys(labels), ...Object.keys(previousLabels)])].filter(
    (label) => labels[label] !== previousLabels[label] && isReserved(label),
  );
  if (changed.length > 0) refuse(`set or change these labels: ${changed.slice(0, 10).join(', ')}`);
  if (before && !isSameJson(object.spec?.['taints'], before.spec?.['taints'])) refuse('change its taints');
  if (!isSameJson(object.spec?.['configSource'], before?.spec?.['configSource'])) refuse('set its configSource');
  if (!isSameJson(object.metadata.ownerReferences, before?.metadata.ownerReferences)) refuse('set owner references');
}

/** A node may request certificates for its own name only. */
export function isOwnCertificate(node: string, signer: string, commonName: string): boolean {
  return !/^kubernetes\.io\/(kube-apiserver-client-kubelet|kubelet-serving)$/.test(textOf(signer)) || commonName === prefix + node;
}
