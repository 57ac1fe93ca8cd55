import { channelNamed } from '../../../kernel/jobs/index.ts';

/** A cluster has work for a shard. */
export const clustersDue = channelNamed('clusters.due');

/** Nodes of a mesh have changed. */
export const meshDue = channelNamed('clusters.mesh');
