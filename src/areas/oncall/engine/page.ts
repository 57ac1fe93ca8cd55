import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db.ts';
import { enqueue, type Job, type JobRun, job, RetryIn, reschedule } from '../../../kernel/jobs/index.ts';
import { ackUrl } from './ack-link.ts';
import { type ChannelName, PageFailed, type PageToSend, type Sent } from '../clients/channels/channel.ts';
import { channels } from '../clients/channels/index.ts';
import { retryAfter } from '../rules/walk.ts';
import { holdStatus } from '../store/incidents.ts';
import * as pages from '../store/pages.ts';
import { note } from '../store/timeline.ts';

/**
 * One page to one person by one channel. Safe to run twice: the ledger says `sending` before the provider is called, and a page
 * that was handed over before is looked up at the provider before it is sent again. Whether it should still go out is the
 * ledger's to say, not the queue's: a job whose page was canceled ends without a word.
 */
export const pageJob: Job = job(
  'oncall.page',
  { lane: 'page', maxAttempts: 10_000, retry: (attempt) => Math.min(2 ** attempt, 15) },
  async (run) => {
    const org = run.org!;
    const page = await run.app.db.write(async (tx) => {
      const [, begun] = await Promise.all([run.fence(tx), pages.beginSending(tx, org, run.key)]);
      return begun;
    });
    if (!page) return;

    const outgoing = toSend(run.app, org, page);
    let sent: Sent | undefined;
    try {
      sent = page.attempts > 1 ? await earlier(run.app, outgoing) : undefined;
      if (!sent) {
        if (page.was === 'sending' && (await givenUp(run, org, page))) return;
        run.signal.throwIfAborted();
        sent = await channels[page.channel].send(run.app, outgoing);
      }
    } catch (error) {
      if (run.signal.aborted) throw error;
      return failed(run, org, page, error);
    }
    await run.finishWith((tx) =>
      Promise.all([
        pages.recordSent(tx, org, page.id, sent),
        note(tx, org, page.incident_id, {
          kind: 'page_sent',
          message: `${words[page.channel]} to ${page.label} went out`,
          data: { pageId: page.id, channel: page.channel, userId: page.user_id },
        }),
      ]),
    );
  },
);

export const words: Record<ChannelName, string> = { email: 'An email', sms: 'An SMS', voice: 'A call' };

const toSend = (app: App, org: string, page: pages.SendingRow): PageToSend => ({
  id: page.id,
  org,
  incident: {
    id: page.incident_id,
    title: page.title,
    serviceName: page.service_name,
    ...(page.description ? { description: page.description } : {}),
  },
  user: { id: page.user_id, label: page.label, email: page.channel === 'email' ? (page.address ?? '') : '' },
  channel: page.channel,
  address: page.address ?? undefined,
  code: page.code,
  attempt: page.attempts,
  sendingAt: page.sending_at,
  ackUrl: ackUrl(app, org, page.id),
});

/** Not known whether an earlier attempt handed it over: the provider says, or we ask again later. */
class Unsure extends Error {}

const earlier = (app: App, page: PageToSend) =>
  channels[page.channel].find(app, page).catch((error: Error) => {
    throw new Unsure(`it is not known whether an earlier attempt went out: ${error.message}`, { cause: error });
  });

/** Its first attempt was cut off before it went out, and meanwhile nobody needs it any more. */
const givenUp = (run: JobRun<unknown>, org: string, page: pages.SendingRow) =>
  run.app.db.write(async (tx) => {
    await run.fence(tx);
    if ((await holdStatus(tx, org, page.incident_id)) === 'open') return false;
    await pages.cancelPage(tx, org, page.id);
    return true;
  });

/** Tried again while that may help and the incident is open; else failed, and the person's next rule fires at once. */
async function failed(run: JobRun<unknown>, org: string, page: pages.SendingRow, error: unknown): Promise<void> {
  const sentence = error instanceof Error ? error.message : String(error);
  const seconds = error instanceof PageFailed && error.permanent ? undefined : retryAfter(page.attempts);
  if (seconds === undefined) {
    await run.finishWith((tx) => failPage(tx, org, page.id, sentence));
    return;
  }
  const open = await run.app.db.write(async (tx) => {
    await run.fence(tx);
    if ((await holdStatus(tx, org, page.incident_id)) !== 'open' && !(error instanceof Unsure)) {
      await pages.cancelPage(tx, org, page.id);
      return false;
    }
    if (error instanceof Unsure) await pages.recordDoubt(tx, org, page.id, sentence);
    else await pages.requeue(tx, org, page.id, sentence, seconds);
    return true;
  });
  if (open) throw new RetryIn(seconds, sentence, { cause: error });
}

/** The end of a page that reached nobody. Nothing is dropped in silence: the timeline says so, and the next rule takes over. */
export async function failPage(tx: Tx, org: string, pageId: string, sentence: string): Promise<void> {
  const page = await pages.pageById(tx, org, pageId);
  if (!page) return;
  const open = (await holdStatus(tx, org, page.incident_id)) === 'open';
  const next = open ? await pages.nextRule(tx, org, page) : undefined;
  // The job before its page, as everywhere: whoever runs the next one holds them in this order too.
  if (next) (await reschedule(tx, pageJob, next.id)) || (await enqueue(tx, pageJob, { key: next.id, org }));
  if (!(await pages.recordFailed(tx, org, pageId, sentence))) return;
  if (next) await pages.hasten(tx, org, next.id);
  await note(tx, org, page.incident_id, {
    kind: 'page_failed',
    message: `${words[page.channel]} to ${page.label} failed: ${sentence}${next ? '; the next rule fires now' : ''}`,
    data: { pageId, channel: page.channel, userId: page.user_id, error: sentence },
  });
}

/** Handed over, and lost on the way for now: it goes out once more. */
export async function retryPage(tx: Tx, org: string, pageId: string, sentence: string): Promise<void> {
  const page = await pages.pageById(tx, org, pageId);
  if (!page) return;
  const seconds = retryAfter(page.attempts);
  const open = (await holdStatus(tx, org, page.incident_id)) === 'open';
  if (seconds === undefined || !open) return failPage(tx, org, pageId, sentence);
  await pages.requeue(tx, org, pageId, sentence, seconds);
  await enqueue(tx, pageJob, { key: pageId, org, delaySeconds: seconds });
}
