import Type from 'typebox';
import { DateTime, named, op } from '../common.ts';

const state = Type.String({ description: 'preview, supported, deprecated or expired' });

const ClusterVersion = named(
  'ClusterVersion',
  Type.Object({
    version: Type.String(),
    minor: Type.String({ description: 'Such as 1.35' }),
    state,
    default: Type.Boolean({ description: 'Whether new clusters get it when they ask for none' }),
    releasedAt: Type.Optional(DateTime),
    deprecatedAt: Type.Optional(DateTime),
    endOfLifeAt: Type.Optional(DateTime),
    upgradesTo: Type.Array(Type.String(), { description: 'Versions one step away' }),
  }),
);

const ClusterUpgrade = named(
  'ClusterUpgrade',
  Type.Object({
    version: Type.String(),
    state,
    blockedBy: Type.Array(Type.Object({ node: Type.String(), agentVersion: Type.String() }), {
      description: 'Nodes whose agents would be left too far behind: upgrade them first; empty: free to go',
    }),
  }),
);

export const versionOps = {
  listClusterVersions: op({
    method: 'GET',
    path: '/cluster-versions',
    summary: 'The version catalog',
    description: 'Newest first.',
    permission: 'clusters.cluster.read',
    kinds: [],
    scoped: true,
    responses: { 200: Type.Object({ versions: Type.Array(ClusterVersion) }) },
    extension: true,
  }),
  listClusterUpgrades: op({
    method: 'GET',
    path: '/clusters/{name}/upgrades',
    summary: 'Where a cluster can go, and what is in the way',
    permission: 'clusters.cluster.read',
    scoped: true,
    responses: { 200: Type.Object({ current: Type.String(), upgrades: Type.Array(ClusterUpgrade) }) },
    extension: true,
  }),
};
