import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import { olderPublicIncidents, publicIncidents } from '../../oncall/index.ts';
import { namedServices } from '../../services/index.ts';
import { liveAvailabilityOf, plannedMaintenance } from '../../uptime/index.ts';
import { type Board, type BoardIncident, boardOf, incidentOf } from '../rules/board.ts';
import { cursorAt, formatCursor, type HistoryCursor, nextCursor } from '../rules/history-cursor.ts';
import { findLogo, findPublicStatusPage, type StatusPageRow } from '../store/status-pages.ts';
import { pageUrl } from './base-url.ts';

/**
 * Limits of the board, from which every public output is rendered for readers without a login. `short`: characters of the newest update of
 * an incident above the byte limit. History pages show the rest of the year.
 */
const boardLimits = { pastDays: 365, incidents: 50, updates: 200, bytes: 96 * 1024, short: 500 };
/** Limits of one history page. */
const historyPageLimits = { pastDays: 365, incidents: 20, updates: 100, bytes: 128 * 1024 };
const barDays = 90;
const pastMaintenanceDays = 14;
/** A logo up to this size is embedded in the page. A larger one has its own address, so that the page stays small. */
const maxInlineLogoBytes = 3_000;

export interface LoadedBoard {
  org: string;
  pageId: string;
  board: Board;
}

/** Reads everything a page shows. Undefined: there is no such page. */
export async function loadBoard(
  tx: Tx,
  app: Pick<App, 'config' | 'mail' | 'publicUrl' | 'presented'>,
  slug: string,
): Promise<LoadedBoard | undefined> {
  const page = await findPublicStatusPage(tx, slug);
  if (!page) return undefined;
  const org = page.org_id;
  // The page's services that still exist, with their current names.
  const names = await namedServices(tx, org, page.service_ids);
  const ids = [...names.keys()];
  // Includes deleted services: published history stays public.
  const found = await publicIncidents(tx, org, page.service_ids, { ...boardLimits, incidents: boardLimits.incidents + 1 });
  const next = found[boardLimits.incidents];
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
    url: pageUrl(app, page),
    services: names,
    incidents: found.slice(0, boardLimits.incidents),
    ...(next ? { older: cursorAt(next.openedAt) } : {}),
    observed: await liveAvailabilityOf(tx, org, ids, barDays),
    maintenance: await plannedMaintenance(tx, org, ids, pastMaintenanceDays),
    subscribable: app.mail.leaves(),
    now: await now(tx),
  });
  return { org, pageId: page.id, board };
}

export interface HistoryPage {
  incidents: BoardIncident[];
  /** Absent: this is the last page. */
  next?: string;
}

/** Reads one history page. Undefined: there is no such status page. */
export async function loadHistoryPage(tx: Tx, slug: string, from: HistoryCursor): Promise<HistoryPage | undefined> {
  const page = await findPublicStatusPage(tx, slug);
  if (!page) return undefined;
  const names = await namedServices(tx, page.org_id, page.service_ids);
  const { incidents, hasMore } = await olderPublicIncidents(tx, page.org_id, page.service_ids, from, historyPageLimits);
  return {
    incidents: incidents.map((i) => incidentOf(i, names.get(i.serviceId) ?? i.serviceName)),
    ...(hasMore ? { next: formatCursor(nextCursor(from, incidents)) } : {}),
  };
}

async function logoFor(tx: Tx, page: StatusPageRow, version: string) {
  const logo = await findLogo(tx, page.org_id, page.id);
  return logo && logo.logo.length <= maxInlineLogoBytes
    ? { version, data: `data:${logo.logo_type};base64,${logo.logo.toString('base64')}` }
    : { version };
}
