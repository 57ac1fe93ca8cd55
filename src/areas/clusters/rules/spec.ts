import { append } from '../../../kernel/steps.ts';
import { type Catalog, defaultVersion, refuseVersion } from './catalog.ts';
import { refuseStep } from './gates.ts';
import { isSmaller, isTier, tierOf } from './tiers.ts';
import { parseVersion } from './versions.ts';

export interface Datastore {
  mode: 'shared' | 'dedicated';
  size?: string;
  storageGiB?: number;
  replicas?: number;
  backups?: boolean;
}

/** A cluster's wanted state. */
export interface Spec {
  version: string;
  tier: string;
  replicas: number;
  mesh: boolean;
  datastore: Datastore;
  loadBalancers: boolean;
}

/** 400 for a spec that no cluster can have, 409 for one that this cluster cannot change to. */
export interface SpecRefusal {
  status: 400 | 409;
  why: string;
}

export const isRefused = (value: object): value is SpecRefusal => 'why' in value;

export interface CreateRequest {
  tier: string;
  orchestratorVersion?: string;
  replicas?: number;
  mesh?: boolean;
  datastore?: Datastore;
  managedLoadBalancers?: { enabled: boolean };
}

const dedicated = { size: 'db-small', storageGiB: 10, replicas: 1, backups: true };

/** The spec of a new cluster, with defaults. */
export function newSpec(catalog: Catalog, asked: CreateRequest): Spec | SpecRefusal {
  const version = asked.orchestratorVersion ?? defaultVersion(catalog);
  if (version === undefined) return { status: 400, why: 'no supported version is in the catalog; name one in orchestratorVersion' };
  const why = refuseVersion(catalog, version);
  if (why) return { status: 400, why };
  if (!isTier(asked.tier)) return unknownTier(asked.tier);
  const datastore = asked.datastore ?? { mode: 'shared' };
  return {
    version,
    tier: asked.tier,
    replicas: asked.replicas ?? 1,
    mesh: asked.mesh ?? false,
    datastore: datastore.mode === 'dedicated' ? { ...dedicated, ...datastore } : datastore,
    loadBalancers: asked.managedLoadBalancers?.enabled ?? false,
  };
}

const unknownTier = (tier: string): SpecRefusal => ({ status: 400, why: `tier ${tier} is none of small, medium, large` });

export interface Patch {
  orchestratorVersion?: string;
  tier?: string;
  replicas?: number;
  managedLoadBalancers?: { enabled: boolean };
  datastore?: Omit<Datastore, 'mode'>;
}

/** The result of a PATCH whose fields are all valid, and the gates it still has to pass. */
export interface PlannedChange {
  spec: Spec;
  /** Descriptions of the changes; empty: nothing changes. */
  changes: string[];
  needsNodeCheck: boolean;
  needsHeadroomCheck: boolean;
}

/** All fields or none: the first refusal rejects the whole PATCH; 400 is checked before 409. */
export function planChange(catalog: Catalog, current: Spec, patch: Patch): PlannedChange | SpecRefusal {
  const { orchestratorVersion: version = current.version, tier = current.tier } = patch;
  const invalid = version === current.version ? undefined : refuseVersion(catalog, version);
  if (invalid) return { status: 400, why: invalid };
  if (!isTier(tier)) return unknownTier(tier);
  const step = refuseStep(current.version, version);
  if (step) return { status: 409, why: step };
  const { storageGiB } = patch.datastore ?? {};
  const held = current.datastore.storageGiB;
  if (storageGiB !== undefined && held !== undefined && storageGiB < held)
    return { status: 409, why: `datastore.storageGiB is ${held} and may grow, never shrink; ${storageGiB} is less` };
  const spec: Spec = {
    ...current,
    version,
    tier,
    replicas: patch.replicas ?? current.replicas,
    loadBalancers: patch.managedLoadBalancers?.enabled ?? current.loadBalancers,
    datastore: { ...current.datastore, ...patch.datastore },
  };
  return {
    spec,
    changes: describeChanges(current, spec),
    needsNodeCheck: version !== current.version,
    needsHeadroomCheck: isSmaller(tierOf(tier), tierOf(current.tier)),
  };
}

function describeChanges(from: Spec, to: Spec): string[] {
  const changes: string[] = [];
  if (from.version !== to.version) changes.push(`upgrade ${from.version} → ${to.version}`);
  if (from.tier !== to.tier) changes.push(`resize ${from.tier} → ${to.tier}`);
  if (from.replicas !== to.replicas) changes.push(`replicas ${from.replicas} → ${to.replicas}`);
  if (from.loadBalancers !== to.loadBalancers) changes.push(`managed load balancers ${to.loadBalancers ? 'on' : 'off'}`);
  const fields = ['size', 'storageGiB', 'replicas', 'backups'] as const;
  if (fields.some((field) => from.datastore[field] !== to.datastore[field])) changes.push('datastore');
  return changes;
}

/** Limitations of an embedded control plane. */
function limitsOfEmbedded({ replicas }: Spec): string[] {
  const sentences = [
    'workloads: the embedded control plane runs no pods; it takes nodes, leases, certificates, configuration and access rules',
    'components: processor time and memory of an embedded control plane are a part of the server’s and are not told apart',
  ];
  if (replicas > 1)
    sentences.push(
      `replicas: ${replicas} are kept; one server at a time answers for an embedded control plane, and another takes over when it stops`,
    );
  return sentences;
}

/** Limitations of the process driver. */
function limitsOfPrograms({ replicas }: Spec): string[] {
  return replicas > 1
    ? [`availability: its ${replicas} apiservers run on one server, and another server takes all of them over when it stops`]
    : [];
}

/** kube-proxy and CoreDNS of a cluster of programs; undefined where it gets none. */
export interface AddonsState {
  problem: string | null;
}

function limitsOfAddons(addons: AddonsState | undefined): string[] {
  if (!addons)
    return [
      'addons: kube-proxy and DNS are yours to install in a cluster of an earlier release, unless the operator adds them (quarterdeck admin clusters addons enable)',
    ];
  return addons.problem === null ? [] : [`addons: ${addons.problem}`];
}

/** The mesh of a cluster, and its nodes that are not in it. */
export interface MeshState {
  problem: string | null;
  outside: readonly string[];
}

const maxNamed = 10;

/** `mesh`: undefined where it is not switched on. */
function limitsOfMesh(mesh: MeshState | undefined): string[] {
  if (!mesh)
    return [
      'mesh: kept; the operator has not switched it on for this cluster, which is from an earlier release (quarterdeck admin clusters mesh enable)',
    ];
  const { problem, outside } = mesh;
  const named = outside.slice(0, maxNamed).join(', ') + (outside.length > maxNamed ? ' and others' : '');
  return [
    ...(problem === null ? [] : [`mesh: ${problem}`]),
    ...(outside.length > 0
      ? [`mesh: ${named} joined without a key; run join.sh --mesh there as root, with wireguard-tools installed`]
      : []),
  ];
}

export interface LimitationContext {
  /** The operator has added addresses for load balancers. */
  hasAddresses: boolean;
  mesh: MeshState | undefined;
  addons: AddonsState | undefined;
  /** Members of its own etcd; undefined: its objects stand in the shared datastore. */
  members: number | undefined;
}

/** Limitations of a dedicated datastore. */
function limitsOfDedicated({ datastore: { replicas = 1 } }: Spec, isProcess: boolean, members: number | undefined): string[] {
  if (!isProcess) return ['datastore: dedicated is kept; the objects of an embedded control plane stand in the shared one'];
  if (members === undefined)
    return [
      'datastore: dedicated is kept; its objects stand in the shared one until the operator moves them: the cluster is from an earlier release, or no server had etcd when it was made (quarterdeck admin clusters datastore move)',
    ];
  return [
    ...(members === replicas ? [] : [`datastore: ${members} members run instead of ${replicas}: there are 1, 3 or 5`]),
    ...(members > 1
      ? [`availability: its ${members} datastore members run on one server; they survive the end of a program, not of the machine`]
      : []),
  ];
}

/** Accepted fields that the cluster does not have as asked for, one sentence each. */
export function limitationsOf(spec: Spec, { hasAddresses, mesh, members, addons }: LimitationContext): string[] {
  const isProcess = parseVersion(spec.version)?.driver === 'process';
  const sentences = isProcess ? limitsOfPrograms(spec) : limitsOfEmbedded(spec);
  if (isProcess) append(sentences, limitsOfAddons(addons));
  if (spec.mesh && isProcess) append(sentences, limitsOfMesh(mesh));
  if (spec.mesh && !isProcess) sentences.push('mesh: kept; an embedded control plane runs no pods, and sets none up');
  if (spec.loadBalancers && !isProcess)
    sentences.push('managedLoadBalancers: kept; an embedded control plane runs no pods, so no service gets an address');
  if (spec.loadBalancers && isProcess && !hasAddresses)
    sentences.push('managedLoadBalancers: kept; the operator has added no addresses yet (quarterdeck admin clusters addresses add)');
  if (spec.datastore.mode === 'dedicated') append(sentences, limitsOfDedicated(spec, isProcess, members));
  return sentences;
}
