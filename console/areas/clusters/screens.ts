import type { Screen } from '../../shell/screen.ts';

export const screens: readonly Screen[] = [
  {
    path: '/clusters',
    title: 'Clusters',
    area: 'clusters',
    main: 'listClusters',
    operations: ['listClusters', 'createCluster'],
    listed: true,
    words: 'kubernetes kubeconfig',
    load: () => import('./clusters.tsx'),
  },
  {
    path: '/clusters/:name',
    title: 'Cluster',
    area: 'clusters',
    main: 'getCluster',
    operations: ['getCluster', 'getClusterHistory', 'getClusterKubeconfig', 'createJoinToken', 'updateCluster', 'deleteCluster'],
    load: () => import('./cluster.tsx'),
  },
  {
    path: '/clusters/:name/nodes',
    title: 'Nodes',
    area: 'clusters',
    main: 'listClusterNodes',
    operations: ['listClusterNodes', 'createJoinToken', 'deregisterClusterNode'],
    load: () => import('./nodes.tsx'),
  },
  {
    path: '/clusters/:name/upgrades',
    title: 'Upgrades',
    area: 'clusters',
    main: 'listClusterUpgrades',
    operations: ['listClusterUpgrades', 'getCluster', 'updateCluster'],
    load: () => import('./upgrades.tsx'),
  },
  {
    path: '/clusters/:name/tokens',
    title: 'Registration tokens',
    area: 'clusters',
    main: 'listRegistrationTokens',
    operations: ['listRegistrationTokens', 'createRegistrationToken', 'updateRegistrationToken', 'revokeRegistrationToken'],
    load: () => import('./tokens.tsx'),
  },
  {
    path: '/clusters/:name/usage',
    title: 'Usage',
    area: 'clusters',
    main: 'getClusterUsage',
    operations: ['getClusterUsage', 'getClusterHistory'],
    load: () => import('./usage.tsx'),
  },
];
