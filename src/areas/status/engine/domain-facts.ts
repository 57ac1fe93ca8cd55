import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { servesTls } from '../../../kernel/tls/index.ts';
import { certificateStates } from '../../certificates/index.ts';
import { domainsOfPages } from '../store/domains.ts';
import type { StatusPageRow } from '../store/status-pages.ts';
import type { DomainFacts } from '../views/domain.ts';
import { targetOf } from './page-domain.ts';

/** The domains of these pages, by page. */
export async function loadDomains(tx: Tx, app: App, pages: readonly StatusPageRow[]): Promise<Map<string, DomainFacts>> {
  const [first] = pages;
  if (!first) return new Map();
  const ids = pages.map(({ id }) => id);
  const domains = await domainsOfPages(tx, first.org_id, ids);
  const states = await certificateStates(
    tx,
    domains.map(({ name }) => name),
  );
  const target = targetOf(app) ?? '';
  const isOrdering = app.config.acme !== '' && servesTls(app.config);
  return new Map(domains.map((domain) => [domain.page_id, { domain, target, certificate: states.get(domain.name), isOrdering }]));
}
