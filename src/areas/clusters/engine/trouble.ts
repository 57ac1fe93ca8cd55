/** A reason that is meant for the people whose cluster it is. */
export class ClusterTrouble extends Error {}
