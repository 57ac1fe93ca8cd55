import type { Tx } from '../../../kernel/db.ts';
import * as pages from '../store/pages.ts';
import { note } from '../store/timeline.ts';
import { failPage, retryPage, words } from './page.ts';

export { type Opening, openIncident } from './open-incident.ts';
export { pageJob } from './page.ts';
export { acknowledge, resolve, type Settled } from './settle.ts';
export { stepJob } from './step.ts';

/** The provider says that it arrived. */
export async function pageDelivered(tx: Tx, org: string, pageId: string): Promise<void> {
  const page = await pages.pageById(tx, org, pageId);
  if (!page || !(await pages.promote(tx, org, pageId, 'delivered'))) return;
  const data = { pageId, channel: page.channel, userId: page.user_id };
  await note(tx, org, page.incident_id, { kind: 'page_delivered', message: `${words[page.channel]} to ${page.label} arrived`, data });
}

/** The person answered it: pressed a key, replied, or followed the link. The page, or undefined when there is none. */
export async function pageConfirmed(tx: Tx, org: string, pageId: string): Promise<pages.PageRow | undefined> {
  const page = await pages.pageById(tx, org, pageId);
  if (!page) return undefined;
  if (await pages.promote(tx, org, pageId, 'confirmed')) {
    const data = { pageId, channel: page.channel, userId: page.user_id };
    await note(tx, org, page.incident_id, {
      kind: 'page_confirmed',
      message: `${page.label} answered ${words[page.channel].toLowerCase()}`,
      data,
    });
  }
  return page;
}

/** The provider took it and could not bring it. For good: the next rule fires at once; for now: it is sent again. */
export const pageFailed = (tx: Tx, org: string, pageId: string, why: { sentence: string; permanent: boolean }): Promise<void> =>
  why.permanent ? failPage(tx, org, pageId, why.sentence) : retryPage(tx, org, pageId, why.sentence);
