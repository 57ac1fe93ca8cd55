import Type from 'typebox';
import { input, named, oneOf, op } from '../common.ts';

const sizes = ['db-small', 'db-medium', 'db-large'] as const;

const Cluster = named(
  'Cluster',
  Type.Object({
    name: Type.String(),
    tier: Type.String(),
    orchestratorVersion: Type.String(),
    replicas: Type.Integer(),
    mesh: Type.Boolean(),
    datastore: Type.Object({
      mode: Type.String({ description: 'shared or dedicated' }),
      size: Type.Optional(Type.String()),
      storageGiB: Type.Optional(Type.Integer()),
      replicas: Type.Optional(Type.Integer()),
      backups: Type.Optional(Type.Boolean()),
    }),
    phase: Type.String({ description: 'pending, provisioning, ready, updating, degraded, failed or deleting' }),
    endpoint: Type.Optional(Type.String({ description: 'Absent until there is one' })),
    managedLoadBalancers: Type.Object({
      enabled: Type.Boolean(),
      maxServices: Type.Integer({ description: 'How many services of type LoadBalancer get an address' }),
      loadBalancers: Type.Array(Type.Object({ service: Type.String(), ip: Type.String() })),
    }),
  }),
);

const datastoreChange = {
  size: Type.Optional(oneOf(sizes)),
  storageGiB: Type.Optional(Type.Integer({ minimum: 1, maximum: 1024, description: 'May grow, never shrink' })),
  replicas: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
  backups: Type.Optional(Type.Boolean()),
};
const ClusterDatastoreCreate = named(
  'ClusterDatastoreCreate',
  input(
    { mode: oneOf(['shared', 'dedicated'], { description: 'Immutable' }), ...datastoreChange },
    { description: 'A dedicated one: db-small, 10 GiB, 1 replica and backups by default' },
  ),
);
const ClusterDatastorePatch = named(
  'ClusterDatastorePatch',
  input(datastoreChange, { description: 'Merged: absent fields stay as they are' }),
);
const ClusterLoadBalancers = named('ClusterLoadBalancers', input({ enabled: Type.Boolean() }));

const version = Type.String({ minLength: 1, maxLength: 64, description: 'From the version catalog' });
const replicas = Type.Integer({
  minimum: 1,
  maximum: 9,
  description: 'Redundancy of the control plane; a single one restarts briefly during any roll',
});

export const clusterOps = {
  listClusters: op({
    method: 'GET',
    path: '/clusters',
    summary: 'List clusters',
    description: 'Live, by name. Clusters of a shard that does not answer are shown as degraded.',
    permission: 'clusters.cluster.read',
    scoped: true,
    responses: { 200: Type.Object({ clusters: Type.Array(Cluster) }) },
    errors: { 502: 'no shard answers' },
  }),
  createCluster: op({
    method: 'POST',
    path: '/clusters',
    summary: 'Create a cluster',
    description:
      'Accepted for provisioning: watch `phase` until it is ready. By default the newest supported version, 1 replica, no mesh, a shared datastore, no managed load balancers.',
    permission: 'clusters.cluster.write',
    body: input({
      name: Type.String({
        minLength: 1,
        maxLength: 50,
        pattern: '^[a-z]([a-z0-9-]*[a-z0-9])?$',
        description:
          'Lower-case letters, digits and hyphens, beginning with a letter and not ending in a hyphen; unique in the organization',
      }),
      tier: oneOf(['small', 'medium', 'large']),
      orchestratorVersion: Type.Optional(version),
      replicas: Type.Optional(replicas),
      mesh: Type.Optional(Type.Boolean()),
      datastore: Type.Optional(ClusterDatastoreCreate),
      managedLoadBalancers: Type.Optional(ClusterLoadBalancers),
    }),
    responses: { 201: Cluster },
    errors: {
      400: 'an unknown or expired version, or an invalid field',
      403: 'quota exceeded, the caller lacks the permission, or names another organization',
      409: 'a cluster with this name exists',
    },
    codes: { 403: ['quota_reached'] },
  }),
  getCluster: op({
    method: 'GET',
    path: '/clusters/{name}',
    summary: 'One cluster',
    permission: 'clusters.cluster.read',
    scoped: true,
    responses: { 200: Cluster },
  }),
  updateCluster: op({
    method: 'PATCH',
    path: '/clusters/{name}',
    summary: 'Upgrade or resize a cluster',
    description:
      'All fields are checked before any is applied; then the control plane rolls while you go on. Versions go up, one minor at a time. A smaller tier must have room for what runs now. A failed cluster is tried again.',
    permission: 'clusters.cluster.write',
    scoped: true,
    body: input({
      orchestratorVersion: Type.Optional(version),
      tier: Type.Optional(Type.String({ minLength: 1, maxLength: 50, description: 'small, medium or large' })),
      replicas: Type.Optional(replicas),
      managedLoadBalancers: Type.Optional(ClusterLoadBalancers),
      datastore: Type.Optional(ClusterDatastorePatch),
    }),
    responses: { 200: Cluster },
    errors: {
      400: 'an unknown or expired version, an unknown tier, or an invalid field',
      409: 'a downgrade, more than one minor version, nodes that would be left too far behind, no headroom for the smaller tier, or a change under way; the sentence names what is in the way',
    },
  }),
  deleteCluster: op({
    method: 'DELETE',
    path: '/clusters/{name}',
    summary: 'Tear a cluster down',
    description: 'Goes on by itself; the cluster is listed as deleting until it is gone. Asking again meanwhile changes nothing.',
    permission: 'clusters.cluster.write',
    fresh: true,
    scoped: true,
    responses: { 202: null },
  }),
};
