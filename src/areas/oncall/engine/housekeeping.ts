// What the platform looks after by itself, whether or not anybody asks.
import type { Db, Tx } from '../../../kernel/db/index.ts';
import { enqueueMany, failingFor } from '../../../kernel/jobs/index.ts';
import { sendHeartbeat } from '../clients/heartbeat.ts';
import { deleteOldEarlyEnds } from '../store/early-ends.ts';
import { overdueEscalations } from '../store/incidents.ts';
import { overduePages } from '../store/pages.ts';
import { deleteOldResponses, type Lag, lag } from '../store/statistics.ts';
import { pageJob } from './page.ts';
import { stepJob } from './step.ts';

/** What was kept in case that something late arrives, and days that no figure is made of any more. */
export async function deleteExpired(tx: Tx): Promise<void> {
  await deleteOldEarlyEnds(tx);
  await deleteOldResponses(tx);
}

const overdueSeconds = 30;

/** Steps and pages that are overdue and whose job is gone get another. How many had none: a backlog that has its jobs is no loss. */
export async function requeueLostWork(tx: Tx): Promise<{ walks: number; pages: number }> {
  const keyed = ({ org_id, id }: { org_id: string; id: string }) => ({ key: id, org: org_id });
  const walks = await enqueueMany(tx, stepJob, (await overdueEscalations(tx, overdueSeconds, stepJob)).map(keyed));
  const pages = await enqueueMany(tx, pageJob, (await overduePages(tx, overdueSeconds, pageJob)).map(keyed));
  return { walks, pages };
}

/** Later than this, the outside watcher must notice. */
const maxLagSeconds = 60;

/** Tells the operator's watcher that pages go out in time; when they do not, it hears nothing, and we return how late they are. */
export async function sendHeartbeatIfOnTime(db: Db, url: string, signal: AbortSignal): Promise<(Lag & { failing: number }) | undefined> {
  // Also what fails before it becomes a page: alerts of monitors that are not taken. A page that its own provider or relay refuses for
  // now is no lag of ours: each refusal moves the time at which it is due, and by that time it is late or not.
  const late = await db.read(async (tx) => ({ ...(await lag(tx)), failing: await failingFor(tx, 'page', pageJob) }));
  if (Math.max(late.escalation, late.page, late.failing) > maxLagSeconds) return late;
  await sendHeartbeat(url, signal);
  return undefined;
}
