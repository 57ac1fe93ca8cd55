import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, forbidden, invalid } from '../../../kernel/errors.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import type { NodeSummary } from '../clients/tenant/nodes.ts';
import type { Catalog } from '../rules/catalog.ts';
import { refuseSkew } from '../rules/gates.ts';
import { refuseDownsize } from '../rules/headroom.ts';
import { refuseChange } from '../rules/phases.ts';
import { type CreateRequest, isRefused, newSpec, type Patch, type PlannedChange, planChange, type SpecRefusal } from '../rules/spec.ts';
import { tierOf } from '../rules/tiers.ts';
import { parseVersion } from '../rules/versions.ts';
import { insertAddons } from '../store/addons.ts';
import * as store from '../store/clusters.ts';
import { insertMesh } from '../store/mesh.ts';
import { samplesOf } from '../store/usage.ts';
import { clustersDue } from './channels.ts';

const refuse = ({ status, why }: SpecRefusal): never => (status === 400 ? invalid(why) : conflict(why));

/** Accepts a cluster for provisioning; a shard claims it. */
export async function createCluster(
  tx: Tx,
  org: string,
  { catalog, quota, canRunEtcd }: { catalog: Catalog; quota: number; canRunEtcd(version: string): Promise<boolean> },
  { name, ...asked }: CreateRequest & { name: string },
): Promise<store.ClusterRow> {
  const spec = newSpec(catalog, asked);
  if (isRefused(spec)) return refuse(spec);
  const count = await store.countClusters(tx, org);
  if (count >= quota)
    forbidden(`quota exceeded: the organization has ${count} clusters, as many as it may; delete one first`, { code: 'quota_reached' });
  const { driver } = parseVersion(spec.version)!;
  const isOnEtcd = driver === 'process' && spec.datastore.mode === 'dedicated' && (await canRunEtcd(spec.version));
  const made = await store.insertCluster(tx, org, name, { driver, store: isOnEtcd ? 'etcd' : 'kine' }, spec);
  if (!made) return conflict(`a cluster named ${name} exists; choose another name`);
  if (made.driver === 'process') await insertAddons(tx, org, made.id);
  if (made.mesh && made.driver === 'process') await insertMesh(tx, org, made.id);
  wake(tx, clustersDue);
  return made;
}

/** Checks every field of a PATCH against the present cluster. A running change blocks every other one. */
export function planUpdate(catalog: Catalog, cluster: store.ClusterRow, patch: Patch): PlannedChange {
  const busy = refuseChange(cluster.name, cluster.phase, cluster.change);
  if (busy) return conflict(busy);
  const planned = planChange(catalog, store.specOf(cluster), patch);
  return isRefused(planned) ? refuse(planned) : planned;
}

/** Gates on the running cluster: node version skew, and headroom in a smaller tier. */
export async function passGates(
  tx: Tx,
  cluster: store.ClusterRow,
  { spec, needsNodeCheck: asksNodes, needsHeadroomCheck }: PlannedChange,
  nodes: readonly NodeSummary[],
) {
  const skew = asksNodes ? refuseSkew(spec.version, nodes) : undefined;
  if (skew) conflict(skew);
  if (!needsHeadroomCheck) return;
  const { maxServices } = tierOf(spec.tier);
  if (cluster.balancers.length > maxServices)
    conflict(
      `the tier ${spec.tier} has room for ${maxServices} load-balanced services, and ${cluster.balancers.length} have an address; delete some first`,
    );
  const samples = await samplesOf(tx, cluster.id);
  // An etcd of its own has its quota from the datastore, not from the tier.
  const counted = cluster.store === 'etcd' ? samples.map((each) => ({ ...each, bytes: 0 })) : samples;
  const crowded = refuseDownsize({ name: spec.tier, limits: tierOf(spec.tier) }, counted);
  if (crowded) conflict(crowded);
}

/** Writes the next generation; a failed cluster is retried even if nothing changes. The caller holds the row lock. */
export async function updateCluster(tx: Tx, cluster: store.ClusterRow, planned: PlannedChange): Promise<store.ClusterRow> {
  const isRetry = cluster.phase === 'failed';
  if (planned.changes.length === 0 && !isRetry) return cluster;
  const changed = await store.changeCluster(tx, cluster.id, planned.spec, planned.changes.join(', ') || 'another try');
  wake(tx, clustersDue);
  return changed;
}

export async function deleteCluster(tx: Tx, cluster: store.ClusterRow): Promise<void> {
  await store.markDeleting(tx, cluster.id);
  wake(tx, clustersDue);
}
