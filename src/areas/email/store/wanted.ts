import type { FairClaim } from '../../../kernel/jobs/index.ts';

/** What this process would take next of a queue whose bytes may lie on one machine alone. */
export interface WantedHere extends Pick<FairClaim, 'orgs' | 'running' | 'perOrg' | 'limit' | 'lease'> {
  leaseSeconds: number;
  /** What this process works on already, whatever the clock says of its leases. */
  held: readonly number[];
  node: string;
}
