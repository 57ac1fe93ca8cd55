import { channelNamed } from '../../../kernel/jobs/index.ts';

/** A cluster has work for a shard. */
export const clustersDue = channelNamed('clusters.due');

/** Nodes of a mesh have changed. */
export const meshDue = channelNamed('clusters.mesh');

/** A backup of a cluster was asked for. */
export const backupsDue = channelNamed('clusters.backups');
