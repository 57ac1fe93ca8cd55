/** A reason that is meant for the people whose cluster it is. */
export class ClusterError extends Error {}
