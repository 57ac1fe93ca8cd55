import { tierOf } from '../rules/tiers.ts';
import type { ClusterRow } from '../store/clusters.ts';
import type { RegistrationRow } from '../store/tokens.ts';

/** `isReachable`: whether its shard is there. One that is not shows as degraded, whatever was last known of it. */
export const clusterView = (row: ClusterRow, isReachable = true) => ({
  name: row.name,
  tier: row.tier,
  orchestratorVersion: row.version,
  replicas: row.replicas,
  mesh: row.mesh,
  datastore: row.datastore,
  phase: isReachable ? row.phase : 'degraded',
  ...(row.endpoint === null ? {} : { endpoint: row.endpoint }),
  managedLoadBalancers: { enabled: row.load_balancers, maxServices: tierOf(row.tier).maxServices, loadBalancers: [] },
});

export const nodeView = ({ name, ready, agentVersion }: { name: string; ready: boolean; agentVersion: string }) => ({
  name,
  ready,
  agentVersion,
});

export const registrationView = (row: RegistrationRow) => ({
  id: row.id,
  name: row.name,
  createdAt: row.created_at,
  ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  ...(row.last_used_at === null ? {} : { lastUsed: row.last_used_at }),
  disabled: row.disabled,
});
