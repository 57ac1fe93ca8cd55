import type { Tx } from '../../../kernel/db/index.ts';
import type { RetryAdvice } from '../../../kernel/errors.ts';
import { enqueue, hint, type Job, type JobRun, job, moveOrEnqueue, RetryIn } from '../../../kernel/jobs/index.ts';
import { PageFailed, type SendResult } from '../clients/channels/channel.ts';
import type { Channels } from '../clients/channels/index.ts';
import { pageAsSubject } from '../rules/channels.ts';
import { maxHandovers, retryAfterSeconds } from '../rules/escalation.ts';
import { shareStatus } from '../store/incidents.ts';
import * as pages from '../store/pages.ts';
import { addEntries, type TimelineEntry } from '../store/timeline.ts';
import { findSent, SendOutcomeUnknown, sendPage } from './send-page.ts';
import { wakeEscalation } from './step.ts';

/**
 * Sends one page to one person by one channel. Safe to run twice: the page row says `sending` before the provider is called, and a later
 * attempt looks the page up at the provider first. The page row decides whether to send, not the queue: the job of a canceled page ends
 * silently.
 */
export const pageJob: Job<unknown, { channels: Channels }> = job(
  'oncall.page',
  { lane: 'page', beginsHere: true, maxAttempts: 1_000_000, retry: (attempt) => Math.min(2 ** attempt, 15) },
  async (run, { channels }: { channels: Channels }) => {
    const org = run.org!;
    const page = await run.db.read((tx) => {
      hint(tx, org, 'oncall.incident');
      return pages.beginSending(tx, org, run.key, run.fenced);
    });
    if (!page) return;
    if (page.is_removed) return run.finishWith((tx) => addEntries(tx, org, page.incident_id, removedEntry(page)));

    const sender = { app: run.app, db: run.db, channels };
    let sent: SendResult | undefined;
    try {
      sent = page.attempts > 1 ? await findSent(sender, org, page) : undefined;
      if (!sent) {
        if (page.was === 'sending' && (await cancelIfUnneeded(run, org, page))) return;
        run.signal.throwIfAborted();
        sent = await sendPage(sender, org, page);
      }
    } catch (error) {
      if (run.signal.aborted) throw error;
      return endAttempt(run, org, page, error);
    }
    const line = sentEntry(page);
    const isEnded = await run.finishBy((tx, ended) => {
      hint(tx, org, 'oncall.incident');
      return pages.endSent(tx, org, page, sent, line, ended);
    });
    if (isEnded) return;
    await run.finishWith((tx) => Promise.all([pages.recordSent(tx, org, page.id, sent), addEntries(tx, org, page.incident_id, line)]));
  },
);

const sentEntry = (page: pages.SendingRow): TimelineEntry => ({
  kind: 'page_sent',
  message: `${pageAsSubject(page.channel)} to ${page.label} went out`,
  data: { pageId: page.id, channel: page.channel, userId: page.user_id },
});

const removedEntry = (page: pages.SendingRow): TimelineEntry => ({
  kind: 'page_canceled',
  message: `${pageAsSubject(page.channel)} to ${page.label} is canceled: they were removed from the organization`,
  data: { count: 1, userId: page.user_id },
});

/** An escalation page is needed while the incident is open. A page to the acknowledger is needed while the incident stays acknowledged. */
const isNeeded = async (tx: Tx, org: string, page: { incident_id: string; notice: number }): Promise<boolean> =>
  (await shareStatus(tx, org, page.incident_id)) === (page.notice ? 'acknowledged' : 'open');

/** Cancels a page whose attempt was interrupted before it was sent, if the page is no longer needed. */
const cancelIfUnneeded = (run: JobRun<unknown>, org: string, page: pages.SendingRow) =>
  run.db.write(async (tx) => {
    await run.fence(tx);
    if (await isNeeded(tx, org, page)) return false;
    await pages.cancelPage(tx, org, page.id);
    return true;
  });

/**
 * Retries the page while it is needed, unless the failure is permanent: then the page fails and the person's next rule fires at once. After
 * `until mended` the next rule fires too, and this page is retried.
 */
async function endAttempt(run: JobRun<unknown>, org: string, page: pages.SendingRow, error: unknown): Promise<void> {
  const sentence = error instanceof Error ? error.message : String(error);
  if (error instanceof PageFailed && error.retryAdvice === 'for good') {
    await run.finishWith((tx) => failPage(tx, org, page.id, sentence));
    return;
  }
  const seconds = retryAfterSeconds(page.attempts);
  const isOutcomeUnknown = error instanceof SendOutcomeUnknown;
  const failure = isOutcomeUnknown ? error.cause : error;
  const isPassedOver = failure instanceof PageFailed && failure.retryAdvice === 'until mended';
  const willRetry = await run.db.write(async (tx) => {
    hint(tx, org, 'oncall.incident');
    await run.fence(tx);
    if (page.attempts === 1) await wakeEscalation(tx, org, page.incident_id); // the escalation then fires a rule that the limits held back
    const next = isPassedOver ? await skipPage(tx, org, page.id) : undefined;
    const needed = await isNeeded(tx, org, page);
    // For a page that is no longer needed, the provider is asked a few more times, for the record.
    if (!needed && (!isOutcomeUnknown || page.attempts >= maxLookupsWhenUnneeded)) {
      if (isOutcomeUnknown) await failPage(tx, org, page.id, sentence);
      else await pages.cancelPage(tx, org, page.id);
      return false;
    }
    if (isOutcomeUnknown) await pages.recordOutcomeUnknown(tx, org, page.id, sentence, seconds);
    else await pages.requeue(tx, org, page.id, sentence, seconds);
    if (needed && page.attempts % attemptsPerDelayEntry === 1)
      await addEntries(tx, org, page.incident_id, delayedEntry(page, sentence, next));
    return true;
  });
  if (willRetry) throw new RetryIn(seconds, sentence, { cause: error });
}

/** Attempts after which an unneeded page with unknown outcome counts as failed. A needed page is looked up without limit. */
const maxLookupsWhenUnneeded = 6;
/** The first temporary failure gets a timeline entry, then about one per half hour. */
const attemptsPerDelayEntry = 30;

const delayedEntry = (page: pages.SendingRow, sentence: string, next: NextRule): TimelineEntry => ({
  kind: 'page_delayed',
  message: `${pageAsSubject(page.channel)} to ${page.label} has not gone out yet: ${sentence}; it is tried again at least once a minute${nextRuleSuffix(next)}`,
  data: { pageId: page.id, channel: page.channel, userId: page.user_id, attempts: page.attempts, error: sentence },
});

type NextRule = { id: string } | undefined;

const nextRuleSuffix = (next: NextRule) => (next ? '; the next rule fires now' : '');

/** Makes the person's next page due. Without another rule, it wakes the escalation, which moves on at once if no page got through. */
async function fireNextRule(tx: Tx, org: string, page: pages.PageRow): Promise<NextRule> {
  // Lock order: job, incident, page. Job runners lock in this order too.
  if (!(await pages.nextRule(tx, org, page))) await wakeEscalation(tx, org, page.incident_id);
  const next = (await isNeeded(tx, org, page)) ? await pages.nextRule(tx, org, page) : undefined;
  if (next) await moveOrEnqueue(tx, pageJob, { key: next.id, org });
  return next;
}

/** Lets the person's next rule fire while this page is retried. Only once: later attempts find the page marked. */
async function skipPage(tx: Tx, org: string, pageId: string): Promise<NextRule> {
  const page = await pages.pageById(tx, org, pageId);
  if (!page || page.passed_over) return undefined;
  const next = await fireNextRule(tx, org, page);
  await pages.markPassedOver(tx, org, pageId);
  if (next) await pages.makeDueNow(tx, org, next.id);
  return next;
}

/** Ends a page that was not delivered. The timeline says so, and the next rule takes over. */
export async function failPage(tx: Tx, org: string, pageId: string, sentence: string): Promise<void> {
  const page = await pages.pageById(tx, org, pageId);
  if (!page) return;
  const next = await fireNextRule(tx, org, page);
  if (!(await pages.recordFailed(tx, org, pageId, sentence))) return;
  if (next) await pages.makeDueNow(tx, org, next.id);
  await addEntries(tx, org, page.incident_id, {
    kind: 'page_failed',
    message: `${pageAsSubject(page.channel)} to ${page.label} failed: ${sentence}${nextRuleSuffix(next)}`,
    data: { pageId, channel: page.channel, userId: page.user_id, error: sentence },
  });
}

/** The provider accepted the page and lost it temporarily: sends it again. */
export async function retryPage(tx: Tx, org: string, pageId: string, sentence: string, retryAdvice: RetryAdvice): Promise<void> {
  const page = await pages.pageById(tx, org, pageId);
  if (!page) return;
  hint(tx, org, 'oncall.incident');
  const seconds = retryAfterSeconds(page.attempts);
  if (page.attempts === 1) await wakeEscalation(tx, org, page.incident_id); // as for a page that the provider did not accept
  if (page.attempts >= maxHandovers || !(await isNeeded(tx, org, page))) return failPage(tx, org, pageId, sentence);
  if (retryAdvice === 'until mended') await skipPage(tx, org, pageId);
  await pages.requeue(tx, org, pageId, sentence, seconds);
  await enqueue(tx, pageJob, { key: pageId, org, delaySeconds: seconds });
}
