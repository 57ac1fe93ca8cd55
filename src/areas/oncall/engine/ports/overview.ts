import type { Failing, Step } from '../../../../../contract/overview.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { now } from '../../../../kernel/time.ts';
import { type Counted, countAll, maxCounted, maxListed, type OverviewPart, type OverviewSource, type Reader } from '../../../ports.ts';
import { ownShifts } from '../../rules/own-shifts.ts';
import { findReport } from '../../store/doctor.ts';
import * as store from '../../store/ports/overview.ts';
import { rotasOf } from '../../store/schedules.ts';

const lookAheadDays = 28;
const dayMs = 86_400_000;
/** Schedules of one person that are looked at. */
const maxSchedules = 50;
const maxOverrides = 200;

export const oncallOverview: OverviewSource = {
  async read(tx, reader) {
    const [shifts, incidents, failing, firstSteps] = await Promise.all([
      readShifts(tx, reader),
      readIncidents(tx, reader),
      readFailing(tx, reader),
      readSteps(tx, reader),
    ]);
    return { ...shifts, ...(incidents ? { incidents } : {}), ...(failing ? { failing } : {}), firstSteps };
  },
};

async function readShifts(tx: Tx, { org, user, reach }: Reader): Promise<Pick<OverviewPart, 'onCall' | 'nextShift'>> {
  if (reach('oncall.schedule.read') !== '*') return {};
  const [from, ids] = await Promise.all([now(tx), store.scheduleIdsWith(tx, org, user.id, maxSchedules)]);
  if (!ids.length) return { onCall: [] };
  const to = new Date(Date.parse(from) + lookAheadDays * dayMs).toISOString();
  const rotas = await rotasOf(tx, org, ids, from, to, maxOverrides);
  const mine = [...rotas].map(([scheduleId, { name, rotation, overrides }]) => ({
    schedule: { scheduleId, scheduleName: name },
    ...ownShifts(rotation, overrides, user.id, from, to),
  }));
  const onCall = mine.flatMap(({ schedule, now: shift }) =>
    shift
      ? [
          {
            ...schedule,
            ...(shift.until ? { until: shift.until } : {}),
            ...(shift.next ? { nextUserId: shift.next.userId, nextLabel: shift.next.label } : {}),
          },
        ]
      : [],
  );
  const [nextShift] = mine
    .flatMap(({ schedule, next }) => (next ? [{ ...schedule, ...next }] : []))
    .sort((a, b) => Date.parse(a.startsAt) - Date.parse(b.startsAt));
  return { onCall: onCall.slice(0, maxListed), ...(nextShift ? { nextShift } : {}) };
}

async function readIncidents(tx: Tx, { org, user, reach }: Reader): Promise<OverviewPart['incidents']> {
  const visible = reach('oncall.incident.read');
  if (visible === undefined) return undefined;
  const found = await store.liveIncidents(tx, org, visible, user.id, { limit: maxListed, most: maxCounted });
  return {
    items: found.map((i) => ({
      id: i.id,
      title: i.title,
      status: i.status,
      pagesMe: i.pages_me,
      serviceId: i.service_id,
      serviceName: i.service_name,
      openedAt: i.opened_at,
    })),
    total: found[0]?.total ?? 0,
  };
}

async function readFailing(tx: Tx, reader: Reader): Promise<Counted<Failing> | undefined> {
  const found = (await Promise.all([failingSources(tx, reader), failingProvider(tx, reader), unpagedServices(tx, reader)])).filter(
    (part) => part !== undefined,
  );
  if (!found.length) return undefined;
  return { items: found.flatMap(({ items }) => items), total: found.reduce((sum, { total }) => sum + total, 0) };
}

async function failingSources(tx: Tx, { org, reach }: Reader): Promise<Counted<Failing> | undefined> {
  const visible = reach('oncall.source.read');
  if (visible === undefined) return undefined;
  const found = await store.sourcesWithProblems(tx, org, visible, maxListed);
  return {
    items: found.map(({ id, name, problem, problem_at }) => ({ kind: 'alertSource', id, name, since: problem_at, reason: problem })),
    total: found[0]?.total ?? 0,
  };
}

async function failingProvider(tx: Tx, { org, reach }: Reader): Promise<Counted<Failing> | undefined> {
  if (reach('oncall.provider.read') !== '*') return undefined;
  const broken = await store.brokenProvider(tx, org);
  if (!broken) return countAll<Failing>([]);
  return countAll<Failing>([{ kind: 'provider', name: 'SMS and voice provider', reason: broken.broken }]);
}

/** As the last daily examination found it. */
async function unpagedServices(tx: Tx, { org, reach }: Reader): Promise<Counted<Failing> | undefined> {
  if (reach('oncall.service.read') !== '*') return undefined;
  const report = await findReport(tx, org);
  if (!report?.unpaged) return countAll<Failing>([]);
  const services = report.unpaged === 1 ? 'service' : 'services';
  const reason = `an incident would page no one for ${report.unpaged} ${services}; the on-call doctor names them`;
  return countAll<Failing>([{ kind: 'paging', name: 'Paging', since: report.examined_at, reason }]);
}

async function readSteps(tx: Tx, { org, user, reach }: Reader): Promise<Step[]> {
  const may = {
    schedule: reach('oncall.schedule.write') === '*',
    policy: reach('oncall.service.write') !== undefined && reach('oncall.policy.write') === '*',
    paging: reach('oncall.incident.write') !== undefined,
  };
  if (!Object.values(may).includes(true)) return [];
  const done = await store.stepsDone(tx, org, user.id);
  return [
    ...(may.schedule ? [{ step: 'schedule', done: done.has_schedule } as const] : []),
    ...(may.policy ? [{ step: 'policy', done: done.has_policy } as const] : []),
    ...(may.paging ? [{ step: 'paging', done: done.has_paging } as const] : []),
  ];
}
