import { accessOps } from './clusters/access.ts';
import { clusterOps } from './clusters/clusters.ts';
import { usageOps } from './clusters/usage.ts';
import { versionOps } from './clusters/versions.ts';
import { area } from './common.ts';

export const clusters = area(
  {
    name: 'clusters',
    label: 'Managed clusters',
    description: 'Kubernetes control planes: create, upgrade, resize; nodes and how they join; client configuration',
    unauthenticated: 'unauthenticated',
    away: 503,
    errors: {
      403: 'the caller lacks the permission, or names another organization (organization mismatch)',
      404: 'unknown cluster, or not of this organization',
      502: 'the shard that runs the cluster is unreachable',
    },
  },
  { ...clusterOps, ...usageOps, ...accessOps, ...versionOps },
);
