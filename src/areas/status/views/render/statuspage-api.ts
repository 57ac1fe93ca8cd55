import type { Board, BoardIncident, BoardMaintenance, BoardService, ServiceState } from '../../rules/board.ts';

// The format of Statuspage's public API, version 2, for its existing clients.

const componentStates: Record<ServiceState, string> = {
  operational: 'operational',
  incident: 'partial_outage',
  down: 'major_outage',
  maintenance: 'under_maintenance',
};

const page = (board: Board) => ({
  id: board.id,
  name: board.title,
  url: board.url,
  time_zone: board.timezone === 'UTC' ? 'Etc/UTC' : board.timezone,
  updated_at: board.changedAt,
});

const status = (board: Board) => ({ indicator: board.indicator, description: board.headline });

const component = (board: Board, s: { id: string; name: string }, at: number, more: object) => ({
  id: s.id,
  name: s.name,
  created_at: board.createdAt,
  updated_at: board.changedAt,
  position: at,
  description: null,
  showcase: false,
  start_date: null,
  page_id: board.id,
  only_show_if_degraded: false,
  ...more,
});

function components(board: Board) {
  let at = 0;
  return board.groups.flatMap((g, n) => {
    const groupId = g.name ? `${board.id}g${n}` : null;
    // Clients sort by position, so a heading precedes its services.
    const heading =
      g.name && groupId
        ? [
            component(board, { id: groupId, name: g.name }, ++at, {
              status: componentStates[worst(g.services)],
              group_id: null,
              group: true,
              components: g.services.map((s) => s.id),
            }),
          ]
        : [];
    const own = g.services.map((s) => component(board, s, ++at, { status: componentStates[s.state], group_id: groupId, group: false }));
    return [...heading, ...own];
  });
}

const ranked: ServiceState[] = ['operational', 'maintenance', 'incident', 'down'];
const worst = (services: readonly BoardService[]): ServiceState =>
  services.map((s) => s.state).reduce((a, b) => (ranked.indexOf(b) > ranked.indexOf(a) ? b : a), 'operational');

const affected = (board: Board, serviceId: string) => components(board).filter((c) => c.id === serviceId);

function incident(board: Board, i: BoardIncident) {
  const down = board.groups.some((g) => g.services.some((s) => s.id === i.serviceId && s.state === 'down'));
  const newest = i.updates[0]!;
  return {
    id: i.id,
    name: i.title,
    status: i.state,
    created_at: i.openedAt,
    updated_at: [newest.at, i.resolvedAt ?? ''].sort().at(-1)!,
    monitoring_at: null,
    resolved_at: i.resolvedAt ?? null,
    impact: !i.resolvedAt && down ? 'major' : 'minor',
    shortlink: `${board.url}/history#${i.id}`,
    started_at: i.openedAt,
    page_id: board.id,
    reminder_intervals: null,
    incident_updates: i.updates.map((u) => ({
      id: u.id,
      status: u.state,
      body: u.body,
      incident_id: i.id,
      created_at: u.at,
      updated_at: u.at,
      display_at: u.at,
      affected_components: [{ code: i.serviceId, name: i.service }],
      deliver_notifications: true,
      custom_tweet: null,
      tweet_id: null,
    })),
    components: affected(board, i.serviceId),
  };
}

const maintenance = (board: Board, m: BoardMaintenance) => ({
  id: m.id,
  name: m.title,
  status: m.state,
  created_at: m.startsAt,
  updated_at: m.state === 'completed' ? m.endsAt : m.startsAt,
  monitoring_at: null,
  resolved_at: m.state === 'completed' ? m.endsAt : null,
  impact: 'maintenance',
  shortlink: board.url,
  started_at: m.startsAt,
  page_id: board.id,
  scheduled_for: m.startsAt,
  scheduled_until: m.endsAt,
  incident_updates: [],
  components: affected(board, m.serviceId),
});

const unresolved = (board: Board) => board.open.map((i) => incident(board, i));
const planned = (board: Board, ...states: BoardMaintenance['state'][]) =>
  board.maintenance.filter((m) => states.includes(m.state)).map((m) => maintenance(board, m));

/** By the path below api/v2/. */
export const statuspageFiles: Record<string, (board: Board) => object> = {
  'summary.json': (b) => ({
    page: page(b),
    components: components(b),
    incidents: unresolved(b),
    scheduled_maintenances: planned(b, 'scheduled', 'in_progress'),
    status: status(b),
  }),
  'status.json': (b) => ({ page: page(b), status: status(b) }),
  'components.json': (b) => ({ page: page(b), components: components(b) }),
  'incidents.json': (b) => ({ page: page(b), incidents: [...b.open, ...b.past].slice(0, 50).map((i) => incident(b, i)) }),
  'incidents/unresolved.json': (b) => ({ page: page(b), incidents: unresolved(b) }),
  'scheduled-maintenances.json': (b) => ({
    page: page(b),
    scheduled_maintenances: planned(b, 'scheduled', 'in_progress', 'completed').slice(-50),
  }),
  'scheduled-maintenances/upcoming.json': (b) => ({ page: page(b), scheduled_maintenances: planned(b, 'scheduled') }),
  'scheduled-maintenances/active.json': (b) => ({ page: page(b), scheduled_maintenances: planned(b, 'in_progress') }),
};
