import type { Ask } from '../../../../drivers/driver.ts';
import type { App } from '../../../../kernel/app.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import { ensureImageLogin, makeAddons, raiseAddons } from '../../clients/tenant/addons.ts';
import * as store from '../../store/addons.ts';
import type { ClusterRow } from '../../store/clusters.ts';
import type { HeldLease } from '../../store/shards.ts';

// kube-proxy and CoreDNS of a cluster of programs. They are made once; then they are the tenant's, and only the tags of their images are raised
// with the cluster's version, once its new apiservers serve. Safe to run again: a crash before the version is noted leaves objects that are found.

export interface AddonsParts {
  app: App;
  held: HeldLease;
  row: ClusterRow;
  ask: Ask;
  endpoint: string;
}

/** After each change and start of the cluster. */
export async function ensureAddons(parts: AddonsParts): Promise<void> {
  const { app, held, row, ask, endpoint } = parts;
  const addons = await app.db.read((tx) => store.addonsOf(tx, row.id));
  if (!addons) return;
  await notingProblem(parts, async () => {
    await ensureImageLogin(ask, imagesOf(app));
    if (addons.version === null) await makeAddons(ask, { version: row.version, endpoint, ...imagesOf(app) });
    else if (addons.version !== row.version) await raiseAddons(ask, row.version);
    if (addons.version === row.version && addons.problem === null) return;
    await app.db.write((tx) => {
      hint(tx, row.org_id, 'clusters.cluster');
      return store.noteAddons(tx, held, row.version);
    });
  });
}

/** Once a minute: what failed, and what the operator has added to a cluster from before. */
export async function retryAddons(parts: AddonsParts): Promise<void> {
  const { app, row } = parts;
  const addons = await app.db.read((tx) => store.addonsOf(tx, row.id));
  if (addons && (addons.version !== row.version || addons.problem !== null)) await ensureAddons(parts);
}

const imagesOf = ({ config }: App) => ({ images: config.cluster_images, login: config.cluster_images_login || undefined });

/** A tenant's webhook may refuse the objects. The cluster is ready all the same, and says what it lacks. */
async function notingProblem({ app, held, row }: AddonsParts, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isUnavailable(error)) throw error;
    app.log.warn({ err: error, cluster: row.id }, 'kube-proxy and CoreDNS of a cluster could not be brought to its version');
    const problem = `kube-proxy and CoreDNS could not be brought to ${row.version}, which is tried again every minute: ${(error as Error).message}`;
    await app.db.write((tx) => {
      hint(tx, row.org_id, 'clusters.cluster');
      return store.noteAddonsProblem(tx, held, problem);
    });
  }
}
