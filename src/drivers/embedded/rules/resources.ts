/**
 * The served resources: stored kinds, kinds that are always empty, and reviews.
 *
 * This folder holds the rules of the embedded Kubernetes API (engine/embedded): pure functions on objects and texts, without database or clock.
 * - A request: request-info.ts parses method and path; selectors.ts and selector-text.ts parse selectors; status.ts builds error responses.
 * - A body: schema/tables.ts describes every message. schema/protobuf.ts decodes, schema/shape.ts validates types and drops unknown fields;
 *   patch/ applies JSON, merge and strategic patches.
 * - An object: names.ts validates metadata; kinds/ sets defaults and validates each kind; built-in.ts has the initial objects; expiry.ts says which
 *   objects expire.
 * - Permissions: rbac.ts evaluates roles and bindings; node-access.ts is the node authorizer with NodeRestriction; signers.ts decides which
 *   certificate requests are signed.
 * - Output: printing.ts has the tables of `kubectl get`; discovery.ts and openapi.ts describe the API.
 */

import { qualified } from '../../status.ts';

export interface Resource {
  group: string;
  version: string;
  plural: string;
  singular: string;
  kind: string;
  isNamespaced: boolean;
  shortNames: readonly string[];
  /** stored: objects are stored. empty: lists have no items and writes are refused. review: a POST is answered and nothing is stored. */
  mode: 'stored' | 'empty' | 'review';
  /** The message that describes its objects; '' for empty kinds. */
  message: string;
  subresources: readonly Subresource[];
  /** The resource name in its rows: two groups may serve the same objects. */
  storedAs: string;
  isInAll: boolean;
}

export interface Subresource {
  name: 'status' | 'approval' | 'token' | 'finalize';
  kind: string;
  verbs: readonly string[];
}

const storedVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
export const verbsOf = ({ mode }: Resource): readonly string[] =>
  mode === 'stored' ? storedVerbs : mode === 'empty' ? ['get', 'list', 'watch'] : ['create'];

const status = (kind: string): Subresource => ({ name: 'status', kind, verbs: ['get', 'patch', 'update'] });

interface Extras {
  shortNames?: readonly string[];
  subresources?: readonly Subresource[];
  storedAs?: string;
  isInAll?: boolean;
  plural?: string;
}

function describe(
  groupVersion: string,
  kind: string,
  scope: 'namespaced' | 'cluster',
  mode: Resource['mode'],
  extras: Extras = {},
): Resource {
  const [group, version] = groupVersion.includes('/') ? (groupVersion.split('/') as [string, string]) : ['', groupVersion];
  const singular = kind.toLowerCase();
  const plural =
    extras.plural ?? (/(s|x)$/.test(singular) ? `${singular}es` : singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`);
  return {
    group,
    version,
    plural,
    singular,
    kind,
    isNamespaced: scope === 'namespaced',
    shortNames: extras.shortNames ?? [],
    mode,
    message: mode === 'empty' ? '' : `${packageOf(group)}.${kind}`,
    subresources: extras.subresources ?? [],
    storedAs: extras.storedAs ?? qualified({ group, plural }),
    isInAll: extras.isInAll ?? false,
  };
}

const packageOf = (group: string) => (group === '' ? 'core' : group.split('.')[0]!);

const certificates = 'certificates.k8s.io/v1';
const rbac = 'rbac.authorization.k8s.io/v1';
const authorization = 'authorization.k8s.io/v1';
const authentication = 'authentication.k8s.io/v1';

export const resources: readonly Resource[] = [
  describe('v1', 'ConfigMap', 'namespaced', 'stored', { shortNames: ['cm'] }),
  describe('v1', 'Endpoints', 'namespaced', 'stored', { shortNames: ['ep'], plural: 'endpoints' }),
  describe('v1', 'Event', 'namespaced', 'stored', { shortNames: ['ev'] }),
  describe('v1', 'Namespace', 'cluster', 'stored', {
    shortNames: ['ns'],
    subresources: [status('Namespace'), { name: 'finalize', kind: 'Namespace', verbs: ['update'] }],
  }),
  describe('v1', 'Node', 'cluster', 'stored', { shortNames: ['no'], subresources: [status('Node')] }),
  describe('v1', 'Secret', 'namespaced', 'stored'),
  describe('v1', 'Service', 'namespaced', 'stored', { shortNames: ['svc'], subresources: [status('Service')], isInAll: true }),
  describe('v1', 'ServiceAccount', 'namespaced', 'stored', {
    shortNames: ['sa'],
    subresources: [{ name: 'token', kind: 'TokenRequest', verbs: ['create'] }],
  }),
  describe('coordination.k8s.io/v1', 'Lease', 'namespaced', 'stored'),
  describe(certificates, 'CertificateSigningRequest', 'cluster', 'stored', {
    shortNames: ['csr'],
    subresources: [
      { name: 'approval', kind: 'CertificateSigningRequest', verbs: ['get', 'patch', 'update'] },
      status('CertificateSigningRequest'),
    ],
  }),
  describe('discovery.k8s.io/v1', 'EndpointSlice', 'namespaced', 'stored'),
  describe('events.k8s.io/v1', 'Event', 'namespaced', 'stored', { shortNames: ['ev'], storedAs: 'events' }),
  describe(rbac, 'ClusterRole', 'cluster', 'stored'),
  describe(rbac, 'ClusterRoleBinding', 'cluster', 'stored'),
  describe(rbac, 'Role', 'namespaced', 'stored'),
  describe(rbac, 'RoleBinding', 'namespaced', 'stored'),
  describe('storage.k8s.io/v1', 'CSINode', 'cluster', 'stored'),

  describe(authentication, 'TokenReview', 'cluster', 'review'),
  describe(authentication, 'SelfSubjectReview', 'cluster', 'review'),
  describe(authorization, 'SubjectAccessReview', 'cluster', 'review'),
  describe(authorization, 'LocalSubjectAccessReview', 'namespaced', 'review'),
  describe(authorization, 'SelfSubjectAccessReview', 'cluster', 'review'),
  describe(authorization, 'SelfSubjectRulesReview', 'cluster', 'review'),

  describe('v1', 'Pod', 'namespaced', 'empty', { shortNames: ['po'], isInAll: true }),
  describe('v1', 'PodTemplate', 'namespaced', 'empty'),
  describe('v1', 'ReplicationController', 'namespaced', 'empty', { shortNames: ['rc'], isInAll: true }),
  describe('v1', 'PersistentVolume', 'cluster', 'empty', { shortNames: ['pv'] }),
  describe('v1', 'PersistentVolumeClaim', 'namespaced', 'empty', { shortNames: ['pvc'] }),
  describe('v1', 'LimitRange', 'namespaced', 'empty', { shortNames: ['limits'] }),
  describe('v1', 'ResourceQuota', 'namespaced', 'empty', { shortNames: ['quota'] }),
  describe('apps/v1', 'DaemonSet', 'namespaced', 'empty', { shortNames: ['ds'], isInAll: true }),
  describe('apps/v1', 'Deployment', 'namespaced', 'empty', { shortNames: ['deploy'], isInAll: true }),
  describe('apps/v1', 'ReplicaSet', 'namespaced', 'empty', { shortNames: ['rs'], isInAll: true }),
  describe('apps/v1', 'StatefulSet', 'namespaced', 'empty', { shortNames: ['sts'], isInAll: true }),
  describe('autoscaling/v2', 'HorizontalPodAutoscaler', 'namespaced', 'empty', { shortNames: ['hpa'], isInAll: true }),
  describe('batch/v1', 'CronJob', 'namespaced', 'empty', { shortNames: ['cj'], isInAll: true }),
  describe('batch/v1', 'Job', 'namespaced', 'empty', { isInAll: true }),
  describe('networking.k8s.io/v1', 'Ingress', 'namespaced', 'empty', { shortNames: ['ing'] }),
  describe('networking.k8s.io/v1', 'NetworkPolicy', 'namespaced', 'empty', { shortNames: ['netpol'] }),
  describe('policy/v1', 'PodDisruptionBudget', 'namespaced', 'empty', { shortNames: ['pdb'] }),
  describe('node.k8s.io/v1', 'RuntimeClass', 'cluster', 'empty'),
  describe('scheduling.k8s.io/v1', 'PriorityClass', 'cluster', 'empty', { shortNames: ['pc'] }),
  describe('storage.k8s.io/v1', 'CSIDriver', 'cluster', 'empty'),
  describe('storage.k8s.io/v1', 'StorageClass', 'cluster', 'empty', { shortNames: ['sc'] }),
  describe('storage.k8s.io/v1', 'VolumeAttachment', 'cluster', 'empty'),
  describe('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'cluster', 'empty', { shortNames: ['crd'] }),
];

export const groupVersionOf = ({ group, version }: Pick<Resource, 'group' | 'version'>) => (group ? `${group}/${version}` : version);

const byPath = new Map(resources.map((resource) => [`${groupVersionOf(resource)} ${resource.plural}`, resource]));

export const findResource = (group: string, version: string, plural: string): Resource | undefined =>
  byPath.get(`${groupVersionOf({ group, version })} ${plural}`);

/** The resource whose rows have this name. */
export const resourceStoredAs = (storedAs: string): Resource | undefined => resources.find((resource) => qualified(resource) === storedAs);

/** Group versions in discovery order, core first. */
export const groupVersions: readonly { group: string; version: string }[] = [
  ...new Map(resources.map(({ group, version }) => [groupVersionOf({ group, version }), { group, version }])).values(),
].sort((a, b) => (a.group === '' ? -1 : b.group === '' ? 1 : 0));

/** The reason why objects of an always empty kind cannot be written. */
export const emptyKindReason = ({ kind }: Resource): string =>
  kind === 'CustomResourceDefinition'
    ? 'this control plane is embedded and serves built-in kinds only, no custom resources; a cluster of a version without +embedded takes them'
    : `this control plane is embedded and runs no pods, so it takes no ${kind} objects; a cluster of a version without +embedded does`;
