import { rightsOf } from '../../../identity/rights.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';
import type { Logger } from '../../../kernel/log.ts';
import { mintPersonToken, removePerson } from '../clients/tenant/people.ts';
import { kubeconfigText } from '../rules/kubeconfig.ts';
import { lifetimes } from '../rules/lifetimes.ts';
import * as store from '../store/access.ts';
import { type ClusterRow, clusterById } from '../store/clusters.ts';
import { pkiOf } from '../store/pki.ts';
import type { Tenants } from './tenants.ts';

/** A client configuration with full rights for a person. It is noted first: who was given one is known to those who take it away again. */
export async function grantAccess(
  tenants: Tenants,
  cluster: ClusterRow,
  person: { id: string; email: string },
  commit: (note: (tx: Tx) => Promise<string>) => Promise<string>,
) {
  return tenants.with(cluster, async (ask) => {
    const authority = await commit(async (tx) => {
      await store.noteAccess(tx, cluster.org_id, cluster.id, person.id);
      return (await pkiOf(tx, cluster.id))!.ca_certificate;
    });
    const token = await mintPersonToken(ask, person, lifetimes.kubeconfig);
    const parts = { cluster: cluster.name, endpoint: cluster.endpoint!, caCertificate: authority };
    return { kubeconfig: kubeconfigText({ ...parts, user: { name: person.email, token } }), expiresIn: lifetimes.kubeconfig };
  });
}

/** Seconds after which a configuration that was not fetched again has expired for certain: its account goes too. */
const forgottenAfter = lifetimes.kubeconfig + 300;
const portion = 200;
const mostPortions = 500;

/** Takes away the service accounts of people who may no longer have a client configuration, or whose last one has expired: every token that was
 *  ever made for one ends with it. */
export async function removeLostAccess(app: App, tenants: Tenants, signal: AbortSignal, log: Logger): Promise<number> {
  let after = { cluster: '', user: '' };
  let removed = 0;
  for (let n = 0; n < mostPortions && !signal.aborted; n++) {
    const found = await app.db.read((tx) => store.accessAfter(tx, after, forgottenAfter, portion));
    for (const each of found) removed += Number(await removeIfLost(app, tenants, each, log));
    if (found.length < portion) break;
    after = { cluster: found.at(-1)!.cluster_id, user: found.at(-1)!.user_id };
  }
  return removed;
}

async function removeIfLost(app: App, tenants: Tenants, access: store.AccessRow, log: Logger): Promise<boolean> {
  const { org_id, cluster_id, user_id } = access;
  const { rights, cluster } = await app.db.read(async (tx) => ({
    rights: await rightsOf(tx, org_id, user_id),
    cluster: await clusterById(tx, cluster_id),
  }));
  const held = rights?.get('clusters.kubeconfig.admin');
  if (!access.is_over && (held === '*' || held?.has(cluster_id))) return false;
  try {
    if (cluster) await tenants.with(cluster, (ask) => removePerson(ask, user_id));
  } catch (error) {
    // Tried again at the next turn, when its shard answers; until then the cluster does not answer the person either.
    if (!(error instanceof Refusal)) log.warn({ err: error, cluster: cluster_id }, 'a person’s access to a cluster could not be removed');
    return false;
  }
  await app.db.write((tx) => store.deleteAccess(tx, access));
  return true;
}
