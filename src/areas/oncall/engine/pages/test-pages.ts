// Pages that a person sends to themselves. They take the way of real ones, from the lane `page` to the answer, and belong to no incident.
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { enqueueMany, hint, type Job, type JobRun, job, RetryIn } from '../../../../kernel/jobs/index.ts';
import { makeIds, now } from '../../../../kernel/time.ts';
import { PageFailed, type SendResult } from '../../clients/channels/channel.ts';
import type { Channels } from '../../clients/channels/index.ts';
import { addressOf, type ChannelName, warningOf } from '../../rules/channels.ts';
import type { Report } from '../../rules/provider-reports.ts';
import { preferencesOf } from '../../store/settings.ts';
import * as store from '../../store/test-pages.ts';
import { pickReplyCodes } from '../escalation/make-pages.ts';
import { reachabilityOfMembers } from '../reachability.ts';
import { findSent, type PageInFlight, SendOutcomeUnknown, sendPage } from '../send-page.ts';

/** A test costs the organization money at its provider, and its person's patience. */
const pauseSeconds = 60;
/** Pauses between the attempts of a page that its provider or relay refuses for now. After the last one it has failed. */
const retrySeconds = [5, 15, 30];

/**
 * Sends one test page. Safe to run twice, as the page of an incident is: the row says `sending` before the provider is called, and a later
 * attempt looks the page up at the provider first.
 */
export const testPageJob: Job<unknown, { channels: Channels }> = job(
  'oncall.test-page',
  { lane: 'page', beginsHere: true, retry: () => 15 },
  async (run, { channels }: { channels: Channels }) => {
    const org = run.org!;
    const page = await run.db.read((tx) => {
      hint(tx, org, 'oncall.paging');
      return store.beginTestPage(tx, org, run.key, run.fenced);
    });
    if (page?.state !== 'sending') return;
    const sender = { app: run.app, db: run.db, channels };
    const inFlight = pageOf(page);
    let sent: SendResult | undefined;
    try {
      sent = page.attempts > 1 ? await findSent(sender, org, inFlight) : undefined;
      run.signal.throwIfAborted();
      sent ??= await sendPage(sender, org, inFlight);
    } catch (error) {
      if (run.signal.aborted) throw error;
      return endAttempt(run, org, page, error);
    }
    const done = sent;
    await run.finishWith((tx) => {
      hint(tx, org, 'oncall.paging');
      return store.recordTestSent(tx, org, page.id, done);
    });
  },
);

const pageOf = (page: store.SendingTestRow): PageInFlight => ({
  id: page.id,
  incident_id: page.id,
  user_id: page.user_id,
  label: page.label,
  channel: page.channel,
  address: page.address,
  code: page.code,
  held_back: 0,
  about: null,
  attempts: page.attempts,
  sending_at: page.sending_at,
  title: 'you asked for this page, to see that it reaches you. Nothing is wrong',
  service_name: 'Test page',
  description: null,
  is_test: true,
});

/** What only waits for a repair has failed: the person who tests is there to hear of it. */
async function endAttempt(run: JobRun<unknown>, org: string, page: store.SendingTestRow, error: unknown): Promise<void> {
  const sentence = error instanceof Error ? error.message : String(error);
  const isFinal = error instanceof PageFailed && error.retryAdvice !== 'for now';
  const seconds = isFinal ? undefined : retrySeconds[page.attempts - 1];
  if (seconds === undefined) {
    await run.finishWith((tx) => {
      hint(tx, org, 'oncall.paging');
      return store.failTestPage(tx, org, page.id, sentence);
    });
    return;
  }
  await run.db.write(async (tx) => {
    await run.fence(tx);
    hint(tx, org, 'oncall.paging');
    await store.delayTestPage(tx, org, page.id, sentence, error instanceof SendOutcomeUnknown);
  });
  throw new RetryIn(seconds, sentence, { cause: error });
}

export interface StartedTest {
  pages: store.TestPageRow[];
  /** What is known now that keeps a page by a channel from arriving. */
  warnings: Map<ChannelName, string>;
}

/** One page by each channel, now. `wanted`: absent, those of the person's rules. */
export async function startTest(
  tx: Tx,
  app: App,
  org: string,
  person: { id: string; name: string; email: string },
  wanted: readonly ChannelName[] | undefined,
): Promise<StartedTest> {
  await store.lockTests(tx, person.id);
  const wait = await store.secondsUntilNext(tx, person.id, pauseSeconds);
  if (wait !== undefined) throw tooSoon(Math.max(1, wait));
  const { addresses, rules } = await preferencesOf(tx, person.id);
  const channels = [...new Set(wanted ?? rules.map((rule) => rule.channel))];
  const at = await now(tx);
  const ids = makeIds('page', at, channels.length).sort(); // they are listed in this order
  const codes = await pickReplyCodes(
    tx,
    org,
    person.id,
    channels.map((channel) => ({ channel })),
  );
  const own = { email: person.email, ...addresses };
  const pages = await store.replaceTest(
    tx,
    org,
    { id: person.id, label: person.name || person.email },
    at,
    channels.map((channel, i) => ({ id: ids[i]!, channel, address: addressOf(channel, own), code: codes[i]! })),
  );
  await enqueueMany(
    tx,
    testPageJob,
    pages.map(({ id }) => ({ key: id, org })),
  );
  const reach = await (await reachabilityOfMembers(tx, app, org))(person.id, own);
  const warnings = channels.flatMap((channel) => {
    const warning = warningOf(channel, reach);
    return warning === undefined ? [] : [[channel, warning] as const];
  });
  return { pages, warnings: new Map(warnings) };
}

const tooSoon = (seconds: number) =>
  new Refusal(429, 'rate_limited', `a test was sent to you less than a minute ago; look what became of it, or try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  });

/** The provider reports on a test page. Once it was accepted it is not sent again. */
export async function recordTestReport(tx: Tx, org: string, id: string, report: Report): Promise<void> {
  hint(tx, org, 'oncall.paging');
  if (report.is === 'delivered') await store.advanceTestPage(tx, org, id, 'delivered');
  if (report.is === 'failed') await store.failTestPage(tx, org, id, report.sentence);
}

/** The person answered a test page by link, key or text. Undefined: there is none. */
export async function confirmTestPage(tx: Tx, org: string, id: string): Promise<store.TestPageRow | undefined> {
  const page = await store.testPageById(tx, org, id);
  if (!page) return undefined;
  hint(tx, org, 'oncall.paging');
  await store.advanceTestPage(tx, org, id, 'confirmed');
  return page;
}
