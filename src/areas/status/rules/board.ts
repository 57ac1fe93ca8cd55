import { publicId } from './public-id.ts';

// The board is everything that the public may know, and every rendering is made from it alone: what is not here cannot leak.

/** What uptime says of a service; days and months as UTC has them, oldest first, those without a monitor absent. */
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
  /** Newest first, never empty; there may be more of them than are shown here. */
  updates: BoardUpdate[];
  updateCount: number;
  /** An older piece of the history goes on with it: its newest updates are in the piece before. */
  isContinued?: true;
}

export interface BoardService {
  id: string;
  name: string;
  state: ServiceState;
  /** Absent: nothing watches it. */
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

export interface Board {
  id: string;
  slug: string;
  title: string;
  description?: string;
  /** Where it is read, without a trailing slash. */
  url: string;
  timezone: string;
  accent?: string;
  /** Its address below the page's own, or the image itself. */
  logo?: { version: string; data?: string };
  createdAt: string;
  /** When anything of it last changed. */
  changedAt: string;
  /** When it was read. */
  now: string;
  indicator: Indicator;
  headline: string;
  /** Whom it is about; absent when all is well. */
  detail?: string;
  groups: { name?: string; services: BoardService[] }[];
  open: BoardIncident[];
  past: BoardIncident[];
  /** Where the history goes on; absent: there is no more. */
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
  /** `serviceName`: the last one, of a service that is gone. */
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

/** It is over, and the newest word about it was written before. Said where its newest words are, and not again where it goes on. */
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

/** Planned work explains whatever the probes see; what they see outweighs a word about it. */
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

/** When time alone changes it next, within so many milliseconds: a window opens or closes. */
export const msUntilChange = (board: Board, maxMs: number): number =>
  board.maintenance
    .flatMap((m) => [m.startsAt, m.endsAt])
    .map((at) => Date.parse(at) - Date.parse(board.now))
    .filter((ms) => ms > 0)
    .reduce((min, ms) => Math.min(min, ms), maxMs);
