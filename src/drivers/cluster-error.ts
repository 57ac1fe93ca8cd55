/** An error whose message is shown to the tenant. */
export class ClusterError extends Error {}
