import type { Tx } from '../../../../kernel/db/index.ts';
import { maxTold, type Reader, type StoryPart, type StorySource, type StorySubject, type Told, tellSome } from '../../../ports.ts';
import { reachesMonitor } from '../../rules/reach.ts';
import * as store from '../../store/ports/story.ts';

/** A vantage may fail for a while before enough of them do. */
const leadMs = 15 * 60_000;
/** Of the first, and of the last. */
const perEnd = maxTold / 2;

export const uptimeStory: StorySource = {
  entitlement: 'uptime',
  async read(tx, reader, _own, subject) {
    const [probes, maintenance] = await Promise.all([tellProbes(tx, reader, subject), tellMaintenance(tx, reader, subject)]);
    return {
      entries: probes.entries ?? [],
      before: maintenance.before ?? [],
      withheld: [...(probes.withheld ?? []), ...(maintenance.withheld ?? [])],
      isCut: Boolean(probes.isCut) || Boolean(maintenance.isCut),
    };
  },
};

async function tellProbes(tx: Tx, { org, reach }: Reader, { monitors, until }: StorySubject): Promise<StoryPart> {
  const held = reach('uptime.monitor.read');
  const known = await store.monitorsNamed(
    tx,
    org,
    monitors.map(({ id }) => id),
  );
  const readable = known.filter((monitor) => reachesMonitor(held, monitor));
  const withheld: StoryPart['withheld'] =
    held === undefined || readable.length < known.length ? [{ what: 'what the probes saw', permission: 'uptime.monitor.read' }] : [];
  if (!readable.length) return { withheld };

  const ids = readable.map(({ id }) => id);
  const first = monitors
    .filter(({ id }) => ids.includes(id))
    .reduce((least, { failingSince }) => Math.min(least, Date.parse(failingSince)), Infinity);
  const span = { from: new Date(first - leadMs).toISOString(), until, limit: perEnd + 1 };
  const [streaks, verdicts] = await Promise.all([store.failureStreaks(tx, org, ids, span), store.verdicts(tx, org, ids, span)]);
  const names = new Map(readable.map(({ id, name }) => [id, name]));
  const probes = bothEnds(streaks);
  const changes = bothEnds(verdicts);
  return {
    entries: [
      ...probes.kept.flatMap((streak) => tellStreak(streak, names.get(streak.monitor_id)!)),
      ...changes.kept.map((verdict) => tellVerdict(verdict, names.get(verdict.monitor_id)!)),
    ],
    withheld,
    isCut: probes.isCut || changes.isCut,
  };
}

const bothEnds = <Row>(found: Row[]): { kept: Row[]; isCut: boolean } =>
  found.length <= 2 * perEnd ? { kept: found, isCut: false } : { kept: [...found.slice(0, perEnd), ...found.slice(-perEnd)], isCut: true };

const monitorRef = (id: string) => ({ kind: 'monitor', id, parents: [] });

function tellStreak({ monitor_id, at, label, error_detail, passed_at }: store.ProbeRow, name: string): Told[] {
  const ref = monitorRef(monitor_id);
  return [
    {
      at,
      kind: 'probe_failed',
      title: `${label} sees ${name} fail`,
      ...(error_detail ? { detail: error_detail.slice(0, 500).toWellFormed() } : {}),
      ref,
    },
    ...(passed_at === null ? [] : [{ at: passed_at, kind: 'probe_passed', title: `${label} sees ${name} work again`, ref }]),
  ];
}

function tellVerdict({ monitor_id, at, to_state, failing }: store.TransitionRow, name: string): Told {
  const words = { down: 'is down', up: 'is up', pending: 'is not judged: too few vantages report' }[to_state];
  return {
    at,
    kind: `monitor_${to_state}`,
    title: `${name} ${words}`,
    ...(failing.length ? { detail: `failing: ${failing.join(', ')}`.slice(0, 500) } : {}),
    ref: monitorRef(monitor_id),
  };
}

async function tellMaintenance(tx: Tx, { org, reach }: Reader, { serviceId, from, openedAt }: StorySubject): Promise<StoryPart> {
  const held = reach('uptime.service.read');
  if (held !== '*' && !held?.has(serviceId)) return { withheld: [{ what: 'planned maintenance', permission: 'uptime.service.read' }] };
  const { told, isCut } = tellSome(
    await store.windowsOpen(tx, org, serviceId, { from, until: openedAt, limit: maxTold + 1 }),
    ({ id, title, starts_at, ends_at }): Told => ({
      at: starts_at,
      kind: 'maintenance',
      title: `maintenance: ${title}`,
      detail: `planned until ${ends_at}`,
      ref: { kind: 'maintenance', id, parents: [] },
    }),
  );
  return { before: told, isCut };
}
