import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db.ts';
import { now } from '../../../kernel/time.ts';
import { publicIncidents } from '../../oncall/index.ts';
import { pageUrl } from '../rules/addresses.ts';
import { type Board, boardOf } from '../rules/board.ts';
import { servicesOf } from './services-shown.ts';
import { logoOf, type PageRow, pageBySlug } from '../store/status-pages.ts';

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
export async function loadBoard(app: App, tx: Tx, slug: string): Promise<Loaded | undefined> {
  const page = await pageBySlug(tx, slug);
  if (!page) return undefined;
  const org = page.org_id;
  const services = await servicesOf(app, tx, page);
  const ids = services.map((s) => s.id);
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
    url: pageUrl(app, page.slug),
    services,
    incidents: await publicIncidents(tx, org, ids, history),
    observed: await app.ports.observedOf(tx, org, ids, barDays),
    maintenance: await app.ports.maintenanceOf(tx, org, ids, pastMaintenanceDays),
    subscribable: app.config.smtp_relay !== '',
    now: await now(tx),
  });
  return { org, pageId: page.id, board };
}

async function logoFor(tx: Tx, page: PageRow, version: string) {
  const logo = await logoOf(tx, page.org_id, page.id);
  return logo && logo.logo.length <= inlineLogo
    ? { version, data: `data:${logo.logo_type};base64,${logo.logo.toString('base64')}` }
    : { version };
}
