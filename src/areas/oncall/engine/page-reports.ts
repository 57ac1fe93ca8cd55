// Changes of a page after it was sent: provider reports and the person's answer.
import type { Tx } from '../../../kernel/db/index.ts';
import type { RetryAdvice } from '../../../kernel/errors.ts';
import { channels, pageAsSubject } from '../rules/channels.ts';
import * as pages from '../store/pages.ts';
import { addEntries } from '../store/timeline.ts';
import { failPage, retryPage } from './page.ts';

interface Undelivered {
  sentence: string;
  retryAdvice: RetryAdvice;
}

/** The provider reports the delivery. */
export async function markDelivered(tx: Tx, org: string, pageId: string): Promise<void> {
  const page = await pages.pageById(tx, org, pageId);
  if (!page || !(await pages.advanceState(tx, org, pageId, 'delivered'))) return;
  const data = { pageId, channel: page.channel, userId: page.user_id };
  await addEntries(tx, org, page.incident_id, {
    kind: 'page_delivered',
    message: `${pageAsSubject(page.channel)} to ${page.label} arrived`,
    data,
  });
}

/** The person answered by key, reply or link. Returns the page, or undefined if there is none. */
export async function confirmPage(tx: Tx, org: string, pageId: string): Promise<pages.PageRow | undefined> {
  const page = await pages.pageById(tx, org, pageId);
  if (!page) return undefined;
  if (await pages.advanceState(tx, org, pageId, 'confirmed')) {
    const data = { pageId, channel: page.channel, userId: page.user_id };
    await addEntries(tx, org, page.incident_id, {
      kind: 'page_confirmed',
      message: `${page.label} answered ${channels[page.channel].page}`,
      data,
    });
  }
  return page;
}

/** The provider accepted the page and failed to deliver it. It is sent again unless the failure is permanent. */
export const endUndelivered = (tx: Tx, org: string, pageId: string, { sentence, retryAdvice }: Undelivered): Promise<void> =>
  retryAdvice === 'for good' ? failPage(tx, org, pageId, sentence) : retryPage(tx, org, pageId, sentence, retryAdvice);
