import type { IncomingHttpHeaders } from 'node:http';
import type { Tx } from '../../../../kernel/db/index.ts';
import { parseRequestInfo, type RequestInfo } from '../../rules/kubernetes/request-info.ts';
import { ApiError, forbiddenError } from '../../rules/kubernetes/status.ts';
import { authenticate } from './authenticate.ts';
import { authorize, isAllowed } from './authorize.ts';
import type { Cluster, EmbeddedIdentity, User } from './cluster.ts';

// Rights are checked when a request arrives, and used later: after its body, a queue, a row lock. In between they can be taken away. So every
// write checks them again in its own transaction, once it holds the cluster's lock. Whatever takes rights away in a cluster (a binding, a service
// account, a bootstrap token, a node's certificate) holds the same lock: a write commits before the rights end, or is refused.

/** How somebody proves who they are. */
export interface Credentials {
  identity: EmbeddedIdentity | undefined;
  headers: IncomingHttpHeaders;
}

/** A caller whose rights can be asked for again. */
export interface Caller {
  user: User;
  /** The house itself, which has a reserve in a full store. */
  isInternal?: boolean;
  /** Objects with which the credential ends. */
  credentialObjects: readonly string[];
  /** In the transaction of a write, before any other lock: a revocation of rights outside the cluster waits for it, or is waited for. */
  lock(tx: Tx): Promise<void>;
  /** Throws 401 or 403 if the request would be refused now. */
  check(tx: Tx): Promise<void>;
}

/** Who asks for what, if they may. */
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

/** Who asks from inside the process. */
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

/** `kubectl --as`: acts as somebody else, for whoever may impersonate them. Asked for in vain it is refused, never passed over. */
async function impersonate(cluster: Cluster, authenticated: User, headers: IncomingHttpHeaders, inside?: Tx): Promise<User> {
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
  const wanted = [
    account ? { resource: 'serviceaccounts', namespace: account[1]!, name: account[2]! } : { resource: 'users', namespace: '', name },
    ...groups.map((group) => ({ resource: 'groups', namespace: '', name: group })),
  ];
  for (const one of wanted)
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
