/**
 * Clusters: managed Kubernetes control planes. The area is their lifecycle, joining nodes, certificates and shards; the control planes themselves
 * are run by a driver (src/drivers), which the version in the row names. docs/areas/clusters.md has the operator's view and the crash table.
 *
 * Actors.
 * - Operations write the wanted state into the cluster's row (engine/lifecycle.ts) and wake a shard. They reach a cluster's API through
 *   engine/tenant-clusters.ts, in whichever process it is served.
 * - A shard (engine/shard) claims clusters under leases, brings each to its newest generation, meters it, and tears it down. engine/plane-options.ts
 *   lists everything that a driver is told of a cluster.
 * - planes/front holds the TLS listeners: it identifies a caller by certificate and hands each request to the cluster's control plane.
 * - engine/balancer compares the Services of type LoadBalancer with the addresses in the database, once for each cluster of programs;
 *   planes/balancer listens at these addresses and joins each connection with one to a node's port.
 * - engine/mesh keeps the WireGuard network of a cluster: a pass compares rows with the interface (clients/mesh), which is in a network namespace of
 *   its own. planes/mesh answers nodes that ask for their peers with their certificate.
 * - engine/addons makes kube-proxy and CoreDNS in a new cluster of programs, and raises their images with its version.
 * - planes/join exchanges a registration token for a bootstrap token (engine/join.ts, exchange.ts). The approver (engine/shard/approver.ts) decides
 *   the certificate requests of nodes; engine/nodes.ts lists, drains and deregisters nodes.
 * - engine/pki.ts makes and seals a cluster's keys, and the task in engine/renewal.ts renews certificates. engine/access.ts issues client
 *   configurations, and a task removes the access of users that lost the right.
 * - store/ has the SQL, a file for each table or few that belong together, and nothing else speaks it.
 *
 * - store/ has all SQL of the area, a file for each noun.
 * - engine/backups copies the objects of clusters of programs into the storage, checks the copies, and restores them.
 *
 * store/ has the SQL, a file for each kind of row: clusters, what shards claim (shards.ts), hand over (handover.ts), keys, nodes, tokens, use.
 *
 * Flow of a change: operation → row with a higher generation → NOTIFY → the shard's tick → driver `apply` → row settled as ready.
 *
 * States (rules/phases.ts): pending → provisioning → ready; updating while a change is applied; degraded or failed with a reason, and retried;
 * deleting until the row is gone.
 *
 * What survives a crash. Wanted and observed state, keys, tokens, certificates and meters are rows. Shards notice that one is
 * gone by its heartbeat (engine/shard/presence.ts), end its leases and claim its clusters; every step of a change is safe to run again. A shard that
 * stops offers its clusters to others, which prepare beside it (engine/shard/succession.ts). In memory are held leases, open planes, listeners and
 * requests that wait (planes/front/holding.ts).
 */

import { kineSchemas } from '../../drivers/process/index.ts';
import { defineArea } from '../area.ts';
import { loadRegistration } from './engine/join.ts';
import { clustersOverview } from './engine/ports/overview.ts';
import { clustersSearch } from './engine/ports/search.ts';
import { clustersStory } from './engine/ports/story.ts';
import { openClusters } from './open.ts';
import { createCluster } from './operations/create-cluster.ts';
import { createJoinToken } from './operations/create-join-token.ts';
import { createRegistrationToken } from './operations/create-registration-token.ts';
import { deleteCluster } from './operations/delete-cluster.ts';
import { deregisterClusterNode } from './operations/deregister-cluster-node.ts';
import { getCluster } from './operations/get-cluster.ts';
import { getClusterHistory } from './operations/get-cluster-history.ts';
import { getClusterKubeconfig } from './operations/get-cluster-kubeconfig.ts';
import { getClusterUsage } from './operations/get-cluster-usage.ts';
import { listClusterNodes } from './operations/list-cluster-nodes.ts';
import { listClusterUpgrades } from './operations/list-cluster-upgrades.ts';
import { listClusterVersions } from './operations/list-cluster-versions.ts';
import { listClusters } from './operations/list-clusters.ts';
import { listRegistrationTokens } from './operations/list-registration-tokens.ts';
import { revokeRegistrationToken } from './operations/revoke-registration-token.ts';
import { updateCluster } from './operations/update-cluster.ts';
import { updateRegistrationToken } from './operations/update-registration-token.ts';
import { storedBackups } from './store/backups.ts';
import { namedClusters } from './store/clusters.ts';
import { tasks } from './tasks.ts';

export { enableAddons, listAddons } from './engine/addons/enable.ts';
export {
  askForBackup,
  askForMove,
  askForRestore,
  chooseBackup,
  type Followed,
  followBackup,
  followChange,
  listClusterBackups,
} from './engine/backups/index.ts';
export { addPool, listAddressPools, removePool } from './engine/balancer/pools.ts';
export { isHandedOver, offerHandover } from './engine/hand-over.ts';
export { enableMesh, listMeshes } from './engine/mesh/enable.ts';
export { parseVersion } from './rules/versions.ts';
export { backupProblems } from './store/backups.ts';
export { countOfVersion, countOwnPrograms } from './store/clusters.ts';
export { balancerProblems } from './store/load-balancers.ts';
export { meshProblems } from './store/mesh.ts';
export { sharingUsers, withoutCgroups } from './store/shards.ts';
export { clusterFigures } from './store/usage.ts';

export const clusters = defineArea({
  name: 'clusters',
  operations: [
    listClusters,
    createCluster,
    getCluster,
    updateCluster,
    deleteCluster,
    getClusterUsage,
    getClusterHistory,
    listClusterNodes,
    deregisterClusterNode,
    getClusterKubeconfig,
    createJoinToken,
    listRegistrationTokens,
    createRegistrationToken,
    updateRegistrationToken,
    revokeRegistrationToken,
    listClusterVersions,
    listClusterUpgrades,
  ],
  migrations: { schema: 'clusters', folder: new URL('./migrations/', import.meta.url) },
  resources: [{ service: 'clusters', permission: 'clusters.cluster.read', list: namedClusters }],
  overview: [clustersOverview],
  search: [clustersSearch],
  story: [clustersStory],
  loaders: { node: loadRegistration },
  sealed: [
    { table: 'clusters.pki', column: 'ca_key', id: 'cluster_id' },
    { table: 'clusters.pki', column: 'serving_key', id: 'cluster_id' },
    { table: 'clusters.pki', column: 'account_key', id: 'cluster_id' },
    { table: 'clusters.pki', column: 'inner_keys', id: 'cluster_id' },
    { table: 'clusters.mesh', column: 'private_key', id: 'cluster_id' },
    { table: 'clusters.backup', column: 'data_key', id: 'id' },
    { table: 'clusters.object', column: 'sealed', id: 'sealed_as' },
    { table: 'clusters.object_change', column: 'sealed', id: 'sealed_as' },
  ],
  stored: storedBackups,
  foreignSchemas: kineSchemas,
  tasks,
  open: openClusters,
});
