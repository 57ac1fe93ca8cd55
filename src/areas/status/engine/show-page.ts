import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import type { StatusPageRow } from '../store/status-pages.ts';
import { countSubscribers } from '../store/subscribers.ts';
import { statusPageView } from '../views/status-page.ts';
import { pageUrl } from './base-url.ts';
import { loadDomains } from './domain-facts.ts';

/** Pages of one organization as the contract shows them. */
export async function showPages(tx: Tx, app: App, org: string, pages: readonly StatusPageRow[]) {
  const counts = await countSubscribers(
    tx,
    org,
    pages.map(({ id }) => id),
  );
  const domains = await loadDomains(tx, app, pages);
  return pages.map((page) => statusPageView(page, pageUrl(app, page), counts.get(page.id) ?? 0, domains.get(page.id)));
}

export const showPage = async (tx: Tx, app: App, page: StatusPageRow) => (await showPages(tx, app, page.org_id, [page]))[0]!;
