import { kineSchemas } from '../../drivers/process/index.ts';
import { defineArea } from '../area.ts';
import { loadRegistration } from './engine/join.ts';
import { openClusters } from './open.ts';
import { createCluster } from './operations/create-cluster.ts';
import { createJoinToken } from './operations/create-join-token.ts';
import { createRegistrationToken } from './operations/create-registration-token.ts';
import { deleteCluster } from './operations/delete-cluster.ts';
import { deregisterClusterNode } from './operations/deregister-cluster-node.ts';
import { getCluster } from './operations/get-cluster.ts';
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
import { namedClusters } from './store/clusters.ts';
import { tasks } from './tasks.ts';

export { parseVersion } from './rules/versions.ts';
export { countOfVersion, countOwnPrograms } from './store/clusters.ts';
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
  loaders: { node: loadRegistration },
  sealed: [
    { table: 'clusters.pki', column: 'ca_key', id: 'cluster_id' },
    { table: 'clusters.pki', column: 'serving_key', id: 'cluster_id' },
    { table: 'clusters.pki', column: 'account_key', id: 'cluster_id' },
    { table: 'clusters.pki', column: 'inner_keys', id: 'cluster_id' },
    { table: 'clusters.object', column: 'sealed', id: 'sealed_as' },
    { table: 'clusters.object_change', column: 'sealed', id: 'sealed_as' },
  ],
  foreignSchemas: kineSchemas,
  tasks,
  open: openClusters,
});
