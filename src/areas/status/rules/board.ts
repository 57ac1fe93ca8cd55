import { publicId } from './public-id.ts';

// The board holds all public data of a page. Every output is rendered from it alone, so that internal data cannot leak.

/** Uptime data of a service. Days and months are UTC, oldest first; those without a monitor are absent. */
export interface Span {
  watchedSeconds: number;
  downSeconds: number;
}
export interface Observed {
  state: 'up' | 'down' | 'pending';
  days: readonly (Span & { date: string })[];
  months: readonly (Span & { month: string })[];
}

interface Maintenance {
  id: string;
  serviceId: string;
  title: string;
  startsAt: string;
  endsAt: string;
}

export type ServiceState = 'operational' | 'incident' | 'down' | 'maintenance';
export type Indicator = 'none' | 'minor' | 'major' | 'critical' | 'maintenance';
export type IncidentState = 'investigating' | 'identified' | 'resolved' | 'postmortem';

export interface BoardUpdate {
  id: string;
  at: string;
  body: string;
  state: IncidentState;
}

export interface BoardIncident {
  id: string;
  title: string;
  serviceId: string;
  service: string;
  state: IncidentState;
  openedAt: string;
  acknowledgedAt?: string;
  resolvedAt?: string;
  /** Newest first, never empty; `updateCount` may be larger. */
  updates: BoardUpdate[];
  updateCount: number;
  /** The incident continues from the previous history page, which has its newest updates. */
  isContinued?: true;
}

export interface BoardService {
  id: string;
  name: string;
  state: ServiceState;
  /** Absent: no monitor watches the service. */
  observed?: Pick<Observed, 'days' | 'months'>;
}

export interface BoardMaintenance {
  id: string;
  title: string;
  serviceId: string;
  service: string;
  state: 'scheduled' | 'in_progress' | 'completed';
  startsAt: string;
  endsAt: string;
}

/** Relative addresses, from the page itself and from what is below it. */
export interface PageLinks {
  /** In front of the name of an output, from the page. */
  below: string;
  /** The JSON, from the page. */
  json: string;
  /** The page, from an output below it, and from one below that. */
  up: string;
  twiceUp: string;
}

/** On a host of many pages a page is `{slug}`; on a domain of its own it is the root. */
export const linksBySlug = (slug: string): PageLinks => ({
  below: `${slug}/`,
  json: `${slug}.json`,
  up: `../${slug}`,
  twiceUp: `../../${slug}`,
});
export const linksAtRoot: PageLinks = { below: '', json: 'index.json', up: './', twiceUp: '../' };

export interface Board {
  id: string;
  slug: string;
  title: string;
  description?: string;
  /** The public address, without a trailing slash. */
  url: string;
  /** How its HTML leads to its other outputs. */
  links: PageLinks;
  timezone: string;
  accent?: string;
  /** A version for the logo's address, or the embedded image. */
  logo?: { version: string; data?: string };
  createdAt: string;
  /** Time of the last change. */
  changedAt: string;
  /** When it was read. */
  now: string;
  indicator: Indicator;
  headline: string;
  /** The affected services; absent if all is well. */
  detail?: string;
  groups: { name?: string; services: BoardService[] }[];
  open: BoardIncident[];
  past: BoardIncident[];
  /** Cursor of the next history page; absent: there is none. */
  older?: string;
  maintenance: BoardMaintenance[];
  /** Whether readers may subscribe by mail. */
  subscribable: boolean;
}

export interface BoardInput {
  page: {
    id: string;
    slug: string;
    title: string;
    description: string | null;
    serviceIds: readonly string[];
    groups: readonly { name: string; serviceIds: readonly string[] }[];
    accent: string | null;
    timezone: string;
    createdAt: string;
    updatedAt: string;
  };
  logo?: { version: string; data?: string };
  url: string;
  now: string;
  /** The names of the page's services that still exist, by id. */
  services: ReadonlyMap<string, string>;
  /** `serviceName`: the last name of a deleted service. */
  incidents: readonly (Omit<BoardIncident, 'service'> & { serviceName: string })[];
  older?: string;
  observed: ReadonlyMap<string, Observed>;
  maintenance: readonly Maintenance[];
  subscribable: boolean;
}

export function boardOf(facts: BoardInput): Board {
  const { page, now, services: names } = facts;
  const incidents = facts.incidents.map((i) => incidentOf(i, names.get(i.serviceId) ?? i.serviceName));
  const open = incidents.filter((i) => i.state === 'investigating' || i.state === 'identified');
  const past = incidents.filter((i) => !open.includes(i));
  const maintenance = facts.maintenance.filter((m) => names.has(m.serviceId)).map((m) => maintenanceOf(m, names.get(m.serviceId)!, now));

  const serviceOf = (id: string): BoardService[] => {
    const name = names.get(id);
    if (name === undefined) return [];
    const observed = facts.observed.get(id);
    return [
      {
        id: publicId(id),
        name,
        state: stateOf(publicId(id), observed, open, maintenance),
        ...(observed ? { observed: { days: observed.days, months: observed.months } } : {}),
      },
    ];
  };
  const grouped = new Set(page.groups.flatMap((g) => g.serviceIds));
  const groups = [
    { services: page.serviceIds.filter((id) => !grouped.has(id)).flatMap(serviceOf) },
    ...page.groups.map((g) => ({ name: g.name, services: g.serviceIds.flatMap(serviceOf) })),
  ].filter((g) => g.services.length);
  const services = groups.flatMap((g) => g.services);

  const changes = [
    page.updatedAt,
    ...incidents.flatMap((i) => [i.openedAt, i.acknowledgedAt ?? '', i.resolvedAt ?? '', i.updates[0]?.at ?? '']),
  ];
  return {
    id: publicId(page.id),
    slug: page.slug,
    title: page.title,
    ...(page.description ? { description: page.description } : {}),
    url: facts.url,
    links: linksBySlug(page.slug),
    timezone: page.timezone,
    ...(page.accent ? { accent: page.accent } : {}),
    ...(facts.logo ? { logo: facts.logo } : {}),
    createdAt: page.createdAt,
    changedAt: changes.sort().at(-1)!,
    now,
    ...summaryOf(services, open),
    groups,
    open,
    past,
    ...(facts.older ? { older: facts.older } : {}),
    maintenance,
    subscribable: facts.subscribable,
  };
}

export const incidentOf = (i: Omit<BoardIncident, 'service'>, service: string): BoardIncident => ({
  id: publicId(i.id),
  title: i.title,
  serviceId: publicId(i.serviceId),
  service,
  state: i.state,
  openedAt: i.openedAt,
  ...(i.acknowledgedAt ? { acknowledgedAt: i.acknowledgedAt } : {}),
  ...(i.resolvedAt ? { resolvedAt: i.resolvedAt } : {}),
  updates: i.updates.map(({ id, at, body, state }) => ({ id: publicId(id), at, body, state })),
  updateCount: i.updateCount,
  ...(i.isContinued ? { isContinued: true } : {}),
});

/** The incident is resolved, and no update since says so. A continued incident says it on the earlier history page. */
export const isResolutionUntold = (i: BoardIncident): boolean =>
  !i.isContinued && i.resolvedAt !== undefined && i.updates[0]!.at < i.resolvedAt;

const maintenanceOf = ({ id, title, serviceId, startsAt, endsAt }: Maintenance, service: string, now: string): BoardMaintenance => ({
  id: publicId(id),
  title,
  serviceId: publicId(serviceId),
  service,
  state: now < startsAt ? 'scheduled' : now < endsAt ? 'in_progress' : 'completed',
  startsAt,
  endsAt,
});

/** Maintenance overrides monitors, and monitors override incidents. */
function stateOf(
  id: string,
  observed: Observed | undefined,
  open: readonly BoardIncident[],
  maintenance: readonly BoardMaintenance[],
): ServiceState {
  if (maintenance.some((m) => m.serviceId === id && m.state === 'in_progress')) return 'maintenance';
  if (observed?.state === 'down') return 'down';
  return open.some((i) => i.serviceId === id) ? 'incident' : 'operational';
}

type Summary = Pick<Board, 'indicator' | 'headline' | 'detail'>;

function summaryOf(services: readonly BoardService[], open: readonly BoardIncident[]): Summary {
  const named = (state: ServiceState) => services.filter((s) => s.state === state).map((s) => s.name);
  const down = named('down');
  const planned = named('maintenance');
  if (down.length && down.length === services.length && down.length > 1)
    return { indicator: 'critical', headline: 'Major outage', detail: `${joinNames(down)} are down` };
  if (down.length) {
    const headline = services.length > 1 ? 'Partial outage' : 'Service outage';
    return { indicator: 'major', headline, detail: `${joinNames(down)} ${down.length > 1 ? 'are' : 'is'} down` };
  }
  if (open.length) {
    const affected = joinNames([...new Set(open.map((i) => i.service))]);
    return { indicator: 'minor', headline: open.length > 1 ? 'Ongoing incidents' : 'Ongoing incident', detail: `Affects ${affected}` };
  }
  if (planned.length) return { indicator: 'maintenance', headline: 'Maintenance in progress', detail: `Affects ${joinNames(planned)}` };
  return { indicator: 'none', headline: services.length ? 'All systems operational' : 'No services are shown here' };
}

/** Checkout; Checkout and Search; Checkout, Search and 3 more. */
const joinNames = (names: readonly string[]): string => {
  const shown = names.length > 3 ? [...names.slice(0, 2), `${names.length - 2} more`] : names;
  return shown.length > 1 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : (shown[0] ?? '');
};

/** Milliseconds until a maintenance window opens or closes, at most `maxMs`. */
export const msUntilChange = (board: Board, maxMs: number): number =>
  board.maintenance
    .flatMap((m) => [m.startsAt, m.endsAt])
    .map((at) => Date.parse(at) - Date.parse(board.now))
    .filter((ms) => ms > 0)
    .reduce((min, ms) => Math.min(min, ms), maxMs);
