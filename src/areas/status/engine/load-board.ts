import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import { publicIncidents } from '../../oncall/index.ts';
import { namedServices } from '../../services/index.ts';
import { observedOf, plannedMaintenance } from '../../uptime/index.ts';
import { statusPageUrl } from '../rules/addresses.ts';
import { type Board, boardOf } from '../rules/board.ts';
import { findLogo, findPublicStatusPage, type StatusPageRow } from '../store/status-pages.ts';
import { baseUrlOf } from './base-url.ts';

/** How far back the history goes, and how much of it there is at most. */
const history = { pastDays: 365, most: 50 };
const barDays = 90;
const pastMaintenanceDays = 14;
/** A logo up to this size travels inside the page; a larger one is an address of its own, so that the page stays small. */
const inlineLogo = 3_000;

export interface Loaded {
  org: string;
  pageId: string;
  board: Board;
}

/** Everything that a page shows, as of now. Undefined: there is no such page. */
export async function loadBoard(tx: Tx, app: Pick<App, 'config' | 'publicUrl'>, slug: string): Promise<Loaded | undefined> {
  const page = await findPublicStatusPage(tx, slug);
  if (!page) return undefined;
  const org = page.org_id;
  // Those of the page's services that still exist, with the names they have now.
  const names = await namedServices(tx, org, page.service_ids);
  const ids = [...names.keys()];
  const board = boardOf({
    page: {
      id: page.id,
      slug: page.slug,
      title: page.title,
      description: page.description,
      serviceIds: page.service_ids,
      groups: page.groups,
      accent: page.accent,
      timezone: page.timezone,
      createdAt: page.created_at,
      updatedAt: page.updated_at,
    },
    ...(page.logo_version ? { logo: await logoFor(tx, page, page.logo_version) } : {}),
    url: statusPageUrl(baseUrlOf(app), page.slug),
    services: names,
    incidents: await publicIncidents(tx, org, ids, history),
    observed: await observedOf(tx, org, ids, barDays),
    maintenance: await plannedMaintenance(tx, org, ids, pastMaintenanceDays),
    subscribable: app.config.smtp_relay !== '',
    now: await now(tx),
  });
  return { org, pageId: page.id, board };
}

async function logoFor(tx: Tx, page: StatusPageRow, version: string) {
  const logo = await findLogo(tx, page.org_id, page.id);
  return logo && logo.logo.length <= inlineLogo
    ? { version, data: `data:${logo.logo_type};base64,${logo.logo.toString('base64')}` }
    : { version };
}
