import { useQuery } from '../../data/query.ts';

// What several screens of a cluster read. Phases change while one looks; a hint tells of each, and where it is lost a glance follows.

export const clusterKinds = ['clusters.cluster'];
const busy = new Set(['pending', 'provisioning', 'updating', 'deleting']);

/** While it is on its way it is asked for more often. */
export const useCluster = (name: string) => {
  const reading = useQuery({
    key: ['cluster', name],
    kinds: clusterKinds,
    refreshSeconds: 5,
    ask: (api, signal) => api.clusters.getCluster(name, { signal }),
  });
  return { ...reading, isBusy: reading.data !== undefined && busy.has(reading.data.phase) };
};

export const useHistory = (name: string, refreshSeconds: number) =>
  useQuery({
    key: ['cluster history', name],
    kinds: clusterKinds,
    refreshSeconds,
    ask: (api, signal) => api.clusters.getClusterHistory(name, { signal }),
  });

export const useUpgrades = (name: string) =>
  useQuery({
    key: ['cluster upgrades', name],
    kinds: [...clusterKinds, 'clusters.node'],
    ask: (api, signal) => api.clusters.listClusterUpgrades(name, { signal }),
  });

export const crumbsOf = (name: string) => [
  { to: '/clusters', label: 'Clusters' },
  { to: `/clusters/${encodeURIComponent(name)}`, label: name },
];
