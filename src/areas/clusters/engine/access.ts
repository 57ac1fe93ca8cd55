import type { Access, Ask } from '../../../drivers/driver.ts';
import { loadMinter, rightsOf } from '../../../identity/rights.ts';
import { lockRights } from '../../../identity/rights-lock.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';
import type { Logger } from '../../../kernel/log.ts';
import { accessSecretOf, isAccessSecret, mintPersonToken, removeAccessSecret, removePerson } from '../clients/tenant/people.ts';
import { kubeconfigText } from '../rules/kubeconfig.ts';
import { lifetimes } from '../rules/lifetimes.ts';
import * as store from '../store/access.ts';
import { type ClusterRow, clusterById } from '../store/clusters.ts';
import { pkiOf } from '../store/pki.ts';
import type { TenantClusters } from './types.ts';

// A client configuration holds a service-account token of its user. The token is bound to a Secret that stands for the Quarterdeck token with which
// the configuration was fetched. When that Quarterdeck token is revoked, disabled, expired or loses the right, the Secret is deleted and the bound
// tokens become invalid. When the user loses the right, the service account is deleted too. The task `clusters.remove-access` compares both sides, so
// no revocation is missed. An embedded cluster checks the Quarterdeck token with every request, and shares the locks of its rights while it writes
// (identity/rights-lock.ts): there a revocation takes effect with its commit.

/** The user that fetches a client configuration, and the token in use. */
export interface Requester {
  id: string;
  email: string;
  token: string;
}

/** Issues a client configuration with full rights. The row is written first, so that the removal task knows every user that got one.
 *  `commit` shares the locks of the token's rights: the row of a token that is revoked concurrently is written before, or not at all. */
export async function grantAccess(
  tenants: TenantClusters,
  cluster: ClusterRow,
  person: Requester,
  commit: (note: (tx: Tx) => Promise<string>) => Promise<string>,
) {
  return tenants.with(cluster, async (ask) => {
    const { org_id: org, id } = cluster;
    const secret = accessSecretOf(person.token);
    const authority = await commit(async (tx) => {
      await store.recordAccess(tx, { org, cluster: id, user: person.id, token: person.token, secret });
      return (await pkiOf(tx, id))!.ca_certificate;
    });
    const token = await mintPersonToken(ask, person, secret, lifetimes.kubeconfig);
    const parts = { cluster: cluster.name, endpoint: cluster.endpoint!, caCertificate: authority };
    return { kubeconfig: kubeconfigText({ ...parts, user: { name: person.email, token } }), expiresIn: lifetimes.kubeconfig };
  });
}

const permission = 'clusters.kubeconfig.admin';

/** The topics that a Quarterdeck token's rights depend on. Undefined: it expired, or lost the right to this cluster's client configuration. */
async function findRightsTopics(tx: Tx, org: string, cluster: string, token: string): Promise<readonly string[] | undefined> {
  const found = await loadMinter(tx, org, token);
  const held = found && found.ttlMs > 0 ? found.principal?.grants.get(permission) : undefined;
  return held === '*' || held?.has(cluster) ? found!.topics : undefined;
}

/** For the API of an embedded cluster. */
export const accessTo = (cluster: string): Access => ({
  isSecret: isAccessSecret,
  findHolder: async (tx, secret) => {
    const holder = await store.holderOfSecret(tx, cluster, secret);
    const topics = holder && (await findRightsTopics(tx, holder.org_id, cluster, holder.token_id));
    return topics && { org: holder.org_id, topics };
  },
  lock: (tx, { org, topics }) => lockRights(tx, org, { shares: topics }),
});

const ages: store.AccessAges = {
  /** A configuration that was fetched longer ago than this has certainly expired. */
  expiredAfterSeconds: lifetimes.kubeconfig + 300,
  /** A request may still be creating the objects of its row. The row stays until then, so that those objects are removed too. */
  settledAfterSeconds: 60,
};
const pageSize = 200;
const maxPages = 500;

/** Removes access of users that lost the right to a client configuration, or whose last one expired: first the Secrets of tokens, then the
 *  service accounts of users, which invalidates every token ever issued for them. */
export async function removeLostAccess(app: App, tenants: TenantClusters, signal: AbortSignal, log: Logger): Promise<number> {
  const remove = makeRemover(app, tenants, log);
  const tokens = await forEachPage(
    app,
    signal,
    store.listTokenAccess,
    ({ token_id }) => token_id,
    async (each) =>
      remove(each, {
        mayKeep: async (tx) => (await findRightsTopics(tx, each.org_id, each.cluster_id, each.token_id)) !== undefined,
        fromCluster: (ask) => removeAccessSecret(ask, each.secret),
        fromRows: (tx) => store.deleteTokenAccess(tx, each),
      }),
  );
  const people = await forEachPage(
    app,
    signal,
    store.listAccess,
    ({ user_id }) => user_id,
    async (each) =>
      remove(each, {
        mayKeep: async (tx) => {
          const held = (await rightsOf(tx, each.org_id, each.user_id))?.get(permission);
          return held === '*' || (held?.has(each.cluster_id) ?? false);
        },
        fromCluster: (ask) => removePerson(ask, each.user_id),
        fromRows: (tx) => store.deleteAccess(tx, each),
      }),
  );
  return tokens + people;
}

/** Those of these Secrets that stand for no access any more. A row that is not settled outlives its Secret, so its right is asked for. */
export async function findLostAccess<A extends { cluster: string; secret: string }>(tx: Tx, asked: readonly A[]): Promise<A[]> {
  const kept = new Set<string>();
  for (const { org_id, cluster_id, token_id, secret, is_settled } of await store.accessOfSecrets(tx, asked, ages))
    if (is_settled || (await findRightsTopics(tx, org_id, cluster_id, token_id))) kept.add(`${cluster_id} ${secret}`);
  return asked.filter(({ cluster, secret }) => !kept.has(`${cluster} ${secret}`));
}

type List<R> = (tx: Tx, after: { cluster: string; id: string }, ages: store.AccessAges, limit: number) => Promise<R[]>;

/** Returns how many were removed. */
async function forEachPage<R extends { cluster_id: string }>(
  app: App,
  signal: AbortSignal,
  list: List<R>,
  idOf: (each: R) => string,
  act: (each: R) => Promise<boolean>,
): Promise<number> {
  let after = { cluster: '', id: '' };
  let removed = 0;
  for (let n = 0; n < maxPages && !signal.aborted; n++) {
    const found = await app.db.read((tx) => list(tx, after, ages, pageSize));
    for (const each of found) removed += Number(await act(each));
    if (found.length < pageSize) break;
    const last = found.at(-1)!;
    after = { cluster: last.cluster_id, id: idOf(last) };
  }
  return removed;
}

interface Removal {
  mayKeep(tx: Tx): Promise<boolean>;
  fromCluster(ask: Ask): Promise<void>;
  fromRows(tx: Tx): Promise<unknown>;
}

const makeRemover =
  (app: App, tenants: TenantClusters, log: Logger) =>
  async ({ cluster_id, is_over, is_settled }: store.AccessRow, { mayKeep, fromCluster, fromRows }: Removal): Promise<boolean> => {
    const { isKept, cluster } = await app.db.read(async (tx) => ({
      isKept: !is_over && (await mayKeep(tx)),
      cluster: await clusterById(tx, cluster_id),
    }));
    if (isKept) return false;
    try {
      if (cluster) await tenants.with(cluster, fromCluster);
    } catch (error) {
      // Retried at the next run, when the shard answers; until then the cluster does not answer the user either.
      if (!(error instanceof Refusal)) log.warn({ err: error, cluster: cluster_id }, 'a person’s access to a cluster could not be removed');
      return false;
    }
    if (is_settled) await app.db.write(fromRows);
    return true;
  };
