import type { IncomingHttpHeaders } from 'node:http';
import type { Tx } from '../../../../kernel/db/index.ts';
import { type Asked, readAsked } from '../../rules/kubernetes/path.ts';
import { authenticate } from './authenticate.ts';
import { authorize } from './authorize.ts';
import type { Cluster, EmbeddedIdentity, User } from './cluster.ts';
import { impersonate } from './impersonate.ts';

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
  isHouse?: boolean;
  /** Objects with which the credential ends. */
  hangsOn: readonly string[];
  /** In the transaction of a write, before any other lock: whoever takes away what stands outside the cluster waits, or is waited for. */
  lock(tx: Tx): Promise<void>;
  /** Throws 401 or 403 if the request would be refused now. */
  check(tx: Tx): Promise<void>;
}

/** Who asks for what, if they may. */
export async function identifyCaller(
  cluster: Cluster,
  { identity, headers }: Credentials,
  { method = 'GET', url = '/' }: { method?: string | undefined; url?: string | undefined },
): Promise<{ caller: Caller; asked: Asked }> {
  const findAsker = (tx?: Tx) => authenticate(cluster, identity, headers.authorization, tx);
  const asker = await findAsker();
  const asked = readAsked(method, url);
  const findUser = async (as: User, tx?: Tx) => {
    const user = await impersonate(cluster, as, headers, tx);
    await authorize(cluster, user, asked, tx);
    return user;
  };
  const caller: Caller = {
    user: await findUser(asker),
    hangsOn: asker.hangsOn ?? [],
    lock: async (tx) => {
      if (asker.access !== undefined) await cluster.options.access?.lock(tx, asker.access);
    },
    check: async (tx) => void (await findUser(await findAsker(tx), tx)),
  };
  return { caller, asked };
}

/** Who asks from inside the process. */
const insider: User = { name: 'system:quarterdeck', groups: ['system:masters', 'system:authenticated'] };

export const callerInside: Caller = { user: insider, isHouse: true, hangsOn: [], lock: async () => {}, check: async () => {} };
