import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db.ts';
import type { PageRow } from '../store/status-pages.ts';

/** The page's services that still exist, with the names they have now; as the catalog lists them, for scopes too. */
export async function servicesOf(app: App, tx: Tx, page: PageRow): Promise<{ id: string; name: string }[]> {
  const catalog = app.ports.resources.find((r) => r.permission === 'oncall.service.read');
  const found = (await catalog?.list(tx, page.org_id, new Set(page.service_ids))) ?? [];
  return found.map(({ id, name }) => ({ id, name }));
}
