import { channelNamed } from '../../../kernel/jobs/index.ts';

/** A cluster has work for a shard. */
export const clustersDue = channelNamed('clusters.due');

/** Nodes of one cluster’s mesh have changed. Nodes say so by themselves, so a wake is for their own mesh alone. */
export const meshDue = (cluster: string) => channelNamed(`clusters.mesh:${cluster}`);
