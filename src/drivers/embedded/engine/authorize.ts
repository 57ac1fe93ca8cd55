import type { Tx } from '../../../kernel/db/index.ts';
import { ApiError, forbiddenError, notFoundError } from '../../status.ts';
import { isNodeAllowed, nodeNameOf } from '../rules/node-access.ts';
import type { KubeObject } from '../rules/object.ts';
import { type Attributes, covers, type PolicyRule, rbacAllows, roleKey, rulesFor } from '../rules/rbac.ts';
import type { RequestInfo } from '../rules/request-info.ts';
import { readSelector, selectedName } from '../rules/selectors.ts';
import type { Cluster, User } from './cluster.ts';
import { readRbac } from './read.ts';

export const attributesOf = ({ verb, path, resource, subresource, namespace, name }: RequestInfo): Attributes =>
  resource
    ? { verb, group: resource.group, resource: resource.plural, subresource: subresource?.name ?? '', namespace, name }
    : { verb, path, group: '', resource: '', subresource: '', namespace: '', name: '' };

const mastersGroup = 'system:masters';

/** Members of system:masters may do everything, nodes what the node authorizer allows, other users what RBAC allows. */
export async function isAllowed(cluster: Cluster, user: User, attributes: Attributes, selectedName?: string, tx?: Tx): Promise<boolean> {
  if (user.groups.includes(mastersGroup)) return true;
  const node = nodeNameOf(user);
  if (node && isNodeAllowed(node, attributes, selectedName)) return true;
  return rbacAllows(await readRbac(cluster, tx), user, attributes);
}

/** The name that a list is narrowed to. Only the node authorizer needs it; the selector of any other user is parsed after authorization. */
function readSelectedName({ verb, resource, query }: RequestInfo): string | undefined {
  const isList = verb === 'list' || verb === 'watch' || verb === 'deletecollection';
  return isList && resource ? selectedName(readSelector('', query.get('fieldSelector') ?? '', resource)) : undefined;
}

export async function authorize(cluster: Cluster, user: User, requestInfo: RequestInfo, inside?: Tx): Promise<void> {
  const attributes = attributesOf(requestInfo);
  if (await isAllowed(cluster, user, attributes, nodeNameOf(user) && readSelectedName(requestInfo), inside)) return;
  throw refuse(user, attributes);
}

function refuse({ name: user }: User, a: Attributes): ApiError {
  if (a.path !== undefined)
    return new ApiError(403, 'Forbidden', `forbidden: User "${user}" cannot ${a.verb} path "${a.path.slice(0, 500)}"`, {});
  const what = `resource "${a.resource}${a.subresource ? `/${a.subresource}` : ''}" in API group "${a.group}"`;
  const where = a.namespace && a.resource !== 'namespaces' ? `in the namespace "${a.namespace}"` : 'at the cluster scope';
  return forbiddenError({ group: a.group, plural: a.resource }, a.name, `User "${user}" cannot ${a.verb} ${what} ${where}`);
}

/** An aggregated role may come to grant anything, since later roles can be added to it. */
const allRules: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

function withoutReferences({ metadata, ...rest }: KubeObject): string {
  const { finalizers: _finalizers, ownerReferences: _owners, resourceVersion: _version, ...comparedMetadata } = metadata;
  return JSON.stringify([comparedMetadata, rest]);
}

/** A user cannot grant permissions that the user does not hold. Kubernetes checks this on every write of a role or binding. */
export async function refuseEscalation(
  tx: Tx,
  cluster: Cluster,
  user: User,
  object: KubeObject,
  before: KubeObject | undefined,
): Promise<void> {
  if (user.groups.includes(mastersGroup)) return;
  // Removing finalizers and owner references grants nothing. Every other change is checked: a label alone can add a role to an aggregated
  // one.
  if (before && withoutReferences(before) === withoutReferences(object)) return;
  const { kind, metadata } = object;
  const namespace = metadata.namespace ?? '';
  const isBinding = /Binding$/.test(kind);
  const rbac = await readRbac(cluster, tx);
  const attributes = { group: 'rbac.authorization.k8s.io', subresource: '', namespace };
  let grantedRules: readonly PolicyRule[];
  if (isBinding) {
    const { kind: roleKind, name } = object['roleRef'] as { kind: string; name: string };
    const resource = roleKind === 'ClusterRole' ? 'clusterroles' : 'roles';
    if (await isAllowed(cluster, user, { ...attributes, verb: 'bind', resource, name }, undefined, tx)) return;
    const rules = rbac.roles.get(roleKey(object['roleRef'], namespace));
    if (!rules) throw notFoundError({ group: attributes.group, plural: resource }, name); // the role could be created later with any rules
    grantedRules = rules;
  } else {
    grantedRules = object['aggregationRule'] || before?.['aggregationRule'] ? allRules : ((object['rules'] ?? []) as PolicyRule[]);
    const resource = kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    if (await isAllowed(cluster, user, { ...attributes, verb: 'escalate', resource, name: metadata.name }, undefined, tx)) return;
  }
  if (covers([...rulesFor(rbac, user, namespace)], grantedRules)) return;
  const plural = `${kind.toLowerCase()}s`;
  throw forbiddenError(
    { group: attributes.group, plural },
    metadata.name,
    `user "${user.name}" is attempting to grant RBAC permissions not currently held; hold them first, or ask somebody who does`,
  );
}
