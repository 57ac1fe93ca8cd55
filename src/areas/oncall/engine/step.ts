import type { Tx } from '../../../kernel/db/index.ts';
import { type Job, job, moveOrEnqueue } from '../../../kernel/jobs/index.ts';

/** Lets one incident's walk go on. It is handed to the job, for what walks makes pages, and pages that fail need this job. */
export type Escalate = (tx: Tx, org: string, incidentId: string, requestId: string | undefined) => Promise<void>;

/**
 * The next step of one incident's walk. Safe to run twice: the step, its pages and where the walk stands are one transaction with
 * the end of this job, and it fires nothing unless the incident is open and the step due.
 */
export const stepJob: Job<unknown, { escalate: Escalate }> = job(
  'oncall.step',
  { lane: 'page', beginsHere: true, maxAttempts: 10_000, retry: (attempt) => Math.min(2 ** attempt, 15) },
  (run, { escalate }: { escalate: Escalate }) => run.finishWith((tx) => escalate(tx, run.org!, run.key, run.requestId)),
);

/** The step's job runs now, or at a time, whether or not there is one that waits. It fires nothing that is not due. */
export const wakeEscalation = (tx: Tx, org: string, incidentId: string, runAt?: string): Promise<void> =>
  moveOrEnqueue(tx, stepJob, { key: incidentId, org, ...(runAt ? { runAt } : {}) });
