import { tierOf } from '../rules/tiers.ts';
import type { ClusterRow } from '../store/clusters.ts';
import type { RegistrationRow } from '../store/tokens.ts';

/** `isReachable`: whether a shard holds it. A cluster without one is shown as degraded, whatever its row says. */
export const clusterView = (row: ClusterRow, isReachable = true) => ({
  name: row.name,
  tier: row.tier,
  orchestratorVersion: row.version,
  replicas: row.replicas,
  mesh: row.mesh,
  datastore: row.datastore,
  phase: isReachable ? row.phase : 'degraded',
  ...(row.endpoint === null ? {} : { endpoint: row.endpoint }),
  managedLoadBalancers: {
    enabled: row.load_balancers,
    maxServices: tierOf(row.tier).maxServices,
    loadBalancers: row.balancers.map(({ service, ip }) => ({ service, ip })),
  },
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
