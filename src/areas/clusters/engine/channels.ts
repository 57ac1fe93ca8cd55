import { channelNamed } from '../../../kernel/jobs/index.ts';

/** A cluster has work for a shard. */
export const clustersDue = channelNamed('clusters.due');

/** An address of load balancers may be free. */
export const addressFree = channelNamed('clusters.address-free');

/** The operator has added addresses for load balancers. */
export const poolAdded = channelNamed('clusters.pool-added');

/** Nodes of one cluster’s mesh have changed. Nodes say so by themselves, so a wake is for their own mesh alone. */
export const meshDue = (cluster: string) => channelNamed(`clusters.mesh:${cluster}`);

/** A backup of a cluster was asked for. */
export const backupsDue = channelNamed('clusters.backups');
