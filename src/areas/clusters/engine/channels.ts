import { channelNamed } from '../../../kernel/jobs/index.ts';

/** Something is to be done for a cluster. */
export const clustersDue = channelNamed('clusters.due');
