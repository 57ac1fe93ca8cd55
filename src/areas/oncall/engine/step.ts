import type { Tx } from '../../../kernel/db/index.ts';
import { type Job, job, moveOrEnqueue } from '../../../kernel/jobs/index.ts';

/**
 * Continues one incident's escalation. Passed to the job as a parameter, because escalation makes pages, and failed pages wake this job (an
 * import cycle otherwise).
 */
export type Escalate = (tx: Tx, org: string, incidentId: string, requestId: string | undefined) => Promise<void>;

/**
 * Runs the next step of one incident's escalation. Safe to run twice: the step, its pages and the new position commit with the end of this
 * job. A step fires only if the incident is open and the step is due.
 */
export const stepJob: Job<unknown, { escalate: Escalate }> = job(
  'oncall.step',
  { lane: 'page', beginsHere: true, maxAttempts: 10_000, retry: (attempt) => Math.min(2 ** attempt, 15) },
  (run, { escalate }: { escalate: Escalate }) => run.finishWith((tx) => escalate(tx, run.org!, run.key, run.requestId)),
);

/** Runs the step's job now or at a time, whether or not one is queued. The job fires nothing that is not due. */
export const wakeEscalation = (tx: Tx, org: string, incidentId: string, runAt?: string): Promise<void> =>
  moveOrEnqueue(tx, stepJob, { key: incidentId, org, ...(runAt ? { runAt } : {}) });
