import type { Tx } from '../../../kernel/db/index.ts';
import { ApiError, forbiddenError } from '../../status.ts';
import { parseRequestInfo, type RequestInfo } from '../rules/request-info.ts';
import { authenticate } from './authenticate.ts';
import { authorize, isAllowed } from './authorize.ts';
import type { Caller } from './call.ts';
import type { Cluster, EmbeddedIdentity, User } from './cluster.ts';

// A request's permissions are checked on arrival and used later: after the body, a queue, a row lock. They can be revoked in between. So
// every write checks them again in its own transaction, while it holds the cluster's lock.
// Revocations in a cluster (of a binding, a service account, a bootstrap token, a node's certificate) hold the same lock. A write either
// commits before the revocation or is refused.

/** Headers of a request, by their names in lower case. */
type RequestHeaders = Readonly<Record<string, string | string[] | undefined>> & { authorization?: string | undefined };

/** The credentials of a request. */
export interface Credentials {
  identity: EmbeddedIdentity | undefined;
  headers: RequestHeaders;
}

/** Authenticates and authorizes a request; throws 401 or 403. */
export async function identifyCaller(
  cluster: Cluster,
  { identity, headers }: Credentials,
  { method = 'GET', url = '/' }: { method?: string | undefined; url?: string | undefined },
): Promise<{ caller: Caller; requestInfo: RequestInfo }> {
  const authenticateNow = (tx?: Tx) => authenticate(cluster, identity, headers.authorization, tx);
  const authenticated = await authenticateNow();
  const requestInfo = parseRequestInfo(method, url);
  const findUser = async (as: User, tx?: Tx) => {
    const user = await impersonate(cluster, as, headers, tx);
    await authorize(cluster, user, requestInfo, tx);
    return user;
  };
  const caller: Caller = {
    user: await findUser(authenticated),
    credentialObjects: authenticated.credentialObjects ?? [],
    lock: async (tx) => {
      if (authenticated.access) await cluster.options.access?.lock(tx, authenticated.access);
    },
    check: async (tx) => void (await findUser(await authenticateNow(tx), tx)),
  };
  return { caller, requestInfo };
}

/** The caller of requests from inside the process. */
const internalUser: User = { name: 'system:quarterdeck', groups: ['system:masters', 'system:authenticated'] };

export const internalCaller: Caller = {
  user: internalUser,
  isInternal: true,
  credentialObjects: [],
  lock: async () => {},
  check: async () => {},
};

const listOf = (value: string | string[] | undefined): string[] =>
  (Array.isArray(value) ? value : (value ?? '').split(',')).map((one) => one.trim()).filter(Boolean);
const maxGroups = 50;

/**
 * `kubectl --as`: the caller acts as another user. Without permission to impersonate, the request is refused; the header is never ignored.
 */
async function impersonate(cluster: Cluster, authenticated: User, headers: RequestHeaders, inside?: Tx): Promise<User> {
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
    return authenticated;
  }
  if (groups.length > maxGroups) throw new ApiError(400, 'BadRequest', `at most ${maxGroups} groups are impersonated`, {});
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const impersonatedResources = [
    account ? { resource: 'serviceaccounts', namespace: account[1]!, name: account[2]! } : { resource: 'users', namespace: '', name },
    ...groups.map((group) => ({ resource: 'groups', namespace: '', name: group })),
  ];
  for (const one of impersonatedResources)
    if (!(await isAllowed(cluster, authenticated, { verb: 'impersonate', group: '', subresource: '', ...one }, undefined, inside)))
      throw forbiddenError(
        { group: '', plural: one.resource },
        one.name,
        `User "${authenticated.name}" cannot impersonate resource "${one.resource}" in API group "" at the cluster scope`,
      );
  if (account)
    return {
      name,
      groups: groups.length ? groups : ['system:serviceaccounts', `system:serviceaccounts:${account[1]}`, 'system:authenticated'],
    };
  return { name, groups: [...new Set([...groups, name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated'])] };
}
