import type { IncomingHttpHeaders } from 'node:http';
import type { Tx } from '../../../../kernel/db/index.ts';
import { ApiError, forbiddenError } from '../../rules/kubernetes/status.ts';
import { isAllowed } from './authorize.ts';
import type { Cluster, User } from './cluster.ts';

const listOf = (value: string | string[] | undefined): string[] =>
  (Array.isArray(value) ? value : (value ?? '').split(',')).map((one) => one.trim()).filter(Boolean);
const mostGroups = 50;

/** `kubectl --as`: acts as somebody else, for whoever may impersonate them. Asked for in vain it is refused, never passed over. */
export async function impersonate(cluster: Cluster, asker: User, headers: IncomingHttpHeaders, inside?: Tx): Promise<User> {
  const name = listOf(headers['impersonate-user'])[0];
  const groups = listOf(headers['impersonate-group']);
  const others = Object.keys(headers).some((header) => header === 'impersonate-uid' || header.startsWith('impersonate-extra-'));
  if (others)
    throw new ApiError(
      403,
      'Forbidden',
      'this control plane is embedded and impersonates users and groups only, without uid and extra fields',
      {},
    );
  if (name === undefined) {
    if (groups.length > 0) throw new ApiError(400, 'BadRequest', 'groups are impersonated only with a user', {});
    return asker;
  }
  if (groups.length > mostGroups) throw new ApiError(400, 'BadRequest', `at most ${mostGroups} groups are impersonated`, {});
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const wanted = [
    account ? { resource: 'serviceaccounts', namespace: account[1]!, name: account[2]! } : { resource: 'users', namespace: '', name },
    ...groups.map((group) => ({ resource: 'groups', namespace: '', name: group })),
  ];
  for (const one of wanted)
    if (!(await isAllowed(cluster, asker, { verb: 'impersonate', group: '', subresource: '', ...one }, undefined, inside)))
      throw forbiddenError(
        { group: '', plural: one.resource },
        one.name,
        `User "${asker.name}" cannot impersonate resource "${one.resource}" in API group "" at the cluster scope`,
      );
  if (account)
    return {
      name,
      groups: groups.length ? groups : ['system:serviceaccounts', `system:serviceaccounts:${account[1]}`, 'system:authenticated'],
    };
  return { name, groups: [...new Set([...groups, name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated'])] };
}
