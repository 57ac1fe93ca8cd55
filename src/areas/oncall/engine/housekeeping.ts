// Periodic tasks: deleting old rows, restoring lost jobs, and the heartbeat.
import type { Db, Tx } from '../../../kernel/db/index.ts';
import { enqueueMany, failingFor } from '../../../kernel/jobs/index.ts';
import { sendHeartbeat } from '../clients/heartbeat.ts';
import { deleteOldEarlyEnds } from '../store/early-ends.ts';
import { overdueEscalations } from '../store/incidents.ts';
import { overduePages } from '../store/pages.ts';
import { deleteOldResponses, type Lag, lag } from '../store/statistics.ts';
import { deleteOldTests } from '../store/test-pages.ts';
import { pageJob } from './page.ts';
import { stepJob } from './step.ts';

/** Deletes early ends, response days and tests that are past their retention. */
export async function deleteExpired(tx: Tx): Promise<void> {
  await deleteOldEarlyEnds(tx);
  await deleteOldResponses(tx);
  await deleteOldTests(tx);
}

const overdueSeconds = 30;

/** Enqueues a job for each overdue step and page that has none. Returns how many had none: a backlog with jobs is not a loss. */
export async function requeueLostWork(tx: Tx): Promise<{ walks: number; pages: number }> {
  const keyed = ({ org_id, id }: { org_id: string; id: string }) => ({ key: id, org: org_id });
  const walks = await enqueueMany(tx, stepJob, (await overdueEscalations(tx, overdueSeconds, stepJob)).map(keyed));
  const pages = await enqueueMany(tx, pageJob, (await overduePages(tx, overdueSeconds, pageJob)).map(keyed));
  return { walks, pages };
}

/** Above this lag the heartbeat is withheld. */
const maxLagSeconds = 60;

/** Sends the heartbeat if pages are on time. Otherwise withholds it and returns the lag. */
export async function sendHeartbeatIfOnTime(db: Db, url: string, signal: AbortSignal): Promise<(Lag & { failing: number }) | undefined> {
  // Also counts work that fails before it becomes a page, such as alerts of monitors. A page that its provider or relay refuses for now is
  // not late: each refusal moves its due time.
  const late = await db.read(async (tx) => ({ ...(await lag(tx)), failing: await failingFor(tx, 'page', pageJob) }));
  if (Math.max(late.escalation, late.page, late.failing) > maxLagSeconds) return late;
  await sendHeartbeat(url, signal);
  return undefined;
}
