import type { KubeObject } from './object.ts';
import { matchesLabels } from './selectors.ts';

// Kubernetes' RBAC over roles and bindings that were read at one version.

export interface PolicyRule {
  verbs?: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** The attributes of a request, for authorization. */
export interface Attributes {
  verb: string;
  /** A path that is no resource; the fields below are then ignored. */
  path?: string;
  group: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
}

interface Grant {
  /** '' for the whole cluster. */
  namespace: string;
  rules: readonly PolicyRule[];
}

/** Grants by subject: `User/name` or `Group/name`; service accounts count as users. */
export interface CompiledRbac {
  bySubject: ReadonlyMap<string, ReadonlyMap<string, Grant>>;
  /** Rules by role: `namespace/name`, and `/name` for cluster roles. */
  roles: ReadonlyMap<string, readonly PolicyRule[]>;
}

interface Subject {
  kind?: string;
  name?: string;
  namespace?: string;
}

export function compileRbac(objects: readonly KubeObject[]): CompiledRbac {
  const roles = new Map<string, readonly PolicyRule[]>();
  for (const object of objects)
    if (object.kind === 'Role' || object.kind === 'ClusterRole')
      roles.set(`${object.metadata.namespace ?? ''}/${object.metadata.name}`, (object['rules'] ?? []) as PolicyRule[]);
  const bySubject = new Map<string, Map<string, Grant>>();
  for (const object of objects) {
    if (object.kind !== 'RoleBinding' && object.kind !== 'ClusterRoleBinding') continue;
    const namespace = object.metadata.namespace ?? '';
    const role = roleKey(object['roleRef'], namespace);
    const rules = roles.get(role);
    if (!rules) continue;
    for (const subject of (object['subjects'] ?? []) as Subject[]) {
      const key = subjectKey(subject, namespace);
      // A role that is bound to a subject many times counts once.
      const grants = bySubject.get(key) ?? new Map<string, Grant>();
      bySubject.set(key, grants.set(`${namespace} ${role}`, { namespace, rules }));
    }
  }
  return { bySubject, roles };
}

/** The key of a binding's role in `CompiledRbac.roles`. */
export const roleKey = (roleRef: unknown, namespace: string): string => {
  const { kind, name } = (roleRef ?? {}) as { kind?: string; name?: string };
  return `${kind === 'ClusterRole' ? '' : namespace}/${name}`;
};

const subjectKey = ({ kind = '', name = '', namespace }: Subject, bound: string) =>
  kind === 'ServiceAccount' ? `User/system:serviceaccount:${namespace ?? bound}:${name}` : `${kind}/${name}`;

/** The rules of an aggregated role: those of every role that its selectors match. */
export function aggregateRules(role: KubeObject, all: readonly KubeObject[]): PolicyRule[] | undefined {
  const selectors = (role['aggregationRule'] as { clusterRoleSelectors?: unknown[] } | undefined)?.clusterRoleSelectors;
  if (!selectors) return undefined;
  const parts = all.filter(
    (one) => one.metadata.name !== role.metadata.name && selectors.some((selector) => matchesLabels(selector, one.metadata.labels ?? {})),
  );
  const seen = new Map<string, PolicyRule>();
  for (const part of parts.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)))
    for (const rule of (part['rules'] ?? []) as PolicyRule[]) seen.set(JSON.stringify(rule), rule);
  return [...seen.values()];
}

export interface UserInfo {
  name: string;
  groups: readonly string[];
}

/** The user's rules in a namespace; with '' only the cluster-wide ones. */
export function* rulesFor({ bySubject }: CompiledRbac, { name, groups }: UserInfo, namespace: string): Generator<PolicyRule> {
  for (const key of [`User/${name}`, ...groups.map((group) => `Group/${group}`)])
    for (const grant of bySubject.get(key)?.values() ?? []) if (grant.namespace === '' || grant.namespace === namespace) yield* grant.rules;
}

const has = (list: readonly string[] | undefined, ...wanted: string[]) => list?.some((one) => one === '*' || wanted.includes(one)) ?? false;

export function allows(rule: PolicyRule, a: Attributes): boolean {
  if (!has(rule.verbs, a.verb)) return false;
  if (a.path !== undefined) return coversPath(rule.nonResourceURLs, a.path);
  const resource = a.subresource ? `${a.resource}/${a.subresource}` : a.resource;
  if (!has(rule.apiGroups, a.group)) return false;
  if (!has(rule.resources, resource) && !(a.subresource && rule.resources?.includes(`*/${a.subresource}`))) return false;
  return !rule.resourceNames?.length || rule.resourceNames.includes(a.name);
}

const coversPath = (patterns: readonly string[] | undefined, path: string) =>
  patterns?.some((pattern) => pattern === '*' || pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)))) ??
  false;

export const rbacAllows = (compiled: CompiledRbac, who: UserInfo, attributes: Attributes): boolean =>
  rulesFor(compiled, who, attributes.path === undefined ? attributes.namespace : '').some((rule) => allows(rule, attributes));

/** Limit of comparisons between one permission and one rule. */
const maxComparisons = 500_000;

/**
 * Whether a user with the rules `own` may grant the rules `wanted`. Each wanted rule is split into single permissions, and one rule of
 * `own` must cover each of them. Above the comparison limit the answer is no.
 */
export function covers(own: readonly PolicyRule[], wanted: readonly PolicyRule[]): boolean {
  let left = maxComparisons;
  for (const rule of wanted)
    for (const right of splitRule(rule)) {
      const isCovered = own.some((one) => --left < 0 || coversRight(one, right));
      if (!isCovered || left < 0) return false;
    }
  return true;
}

function* splitRule({
  verbs = [],
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): Generator<PolicyRule> {
  for (const verb of verbs) {
    for (const path of nonResourceURLs) yield { verbs: [verb], nonResourceURLs: [path] };
    for (const group of apiGroups)
      for (const resource of resources)
        if (resourceNames.length === 0) yield { verbs: [verb], apiGroups: [group], resources: [resource] };
        else for (const name of resourceNames) yield { verbs: [verb], apiGroups: [group], resources: [resource], resourceNames: [name] };
  }
}

function coversRight(own: PolicyRule, { verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): boolean {
  if (!has(own.verbs, verbs![0]!)) return false;
  if (nonResourceURLs) return coversPath(own.nonResourceURLs, nonResourceURLs[0]!);
  const [resource, subresource] = resources![0]!.split('/') as [string, string?];
  return (
    has(own.apiGroups, apiGroups![0]!) &&
    (has(own.resources, resources![0]!) ||
      (subresource !== undefined && resource !== '*' && (own.resources?.includes(`*/${subresource}`) ?? false))) &&
    (!own.resourceNames?.length || (resourceNames !== undefined && own.resourceNames.includes(resourceNames[0]!)))
  );
}
