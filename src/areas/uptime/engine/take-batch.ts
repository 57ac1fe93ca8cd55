import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { type Batch, outcomes, sendsHidden, withoutQueries } from '../../../protocols/agent.ts';
import { isMissedKind } from '../rules/conditions.ts';
import type { Reported } from '../rules/down.ts';
import { emptyHistogram, latencyBucket } from '../rules/latency.ts';
import { openedTarget } from '../rules/sealed-target.ts';
import { takeIn } from '../rules/take-in.ts';
import { beginBatch, lastBatch, type Speaker } from '../store/instances.ts';
import type { MonitorRow } from '../store/monitor-row.ts';
import { type OpinionChange, opinionsOf, writeOpinions } from '../store/opinions.ts';
import { insertFailures, insertResults, type StoredFailure, type StoredResult } from '../store/results.ts';
import { lockStates, monitorsOf, sealedOf } from '../store/states.ts';
import { windowsBetween } from '../store/windows.ts';
import { shareAgent } from './agent-registry.ts';
import type { Partitions } from './partitions.ts';
import { type Moved, record } from './record.ts';
import { iso, opinionChange, opinionOf, standingChange, standingOf, watchedOf } from './standing.ts';

type Result = Batch['results'][number];
type Timed = Result & Reported;

export interface Taken {
  is: 'stored' | 'known' | 'no session' | 'revoked';
  /** Results by outcome, and changes of state, for the metrics. */
  results: Result[];
  transitions: number;
}

const untaken = (is: Taken['is']): Taken => ({ is, results: [], transitions: 0 });

/** One batch, one transaction: it is taken in whole, once, or not at all. */
export const takeBatch = (app: App, partitions: Partitions, by: Speaker, batch: Batch): Promise<Taken> =>
  app.db.write(async (tx) => {
    const [, begun] = await Promise.all([shareAgent(tx, by.agentId), beginBatch(tx, by, batch)]);
    if (!begun) {
      const last = await lastBatch(tx, by, batch.instance);
      return untaken(last.revoked ? 'revoked' : last.seq === null ? 'no session' : 'known');
    }
    return batch.results.length
      ? store(app, tx, partitions, by.vantage, begun.vantage_no, batch, Date.parse(begun.now))
      : untaken('stored');
  });

async function store(
  app: App,
  tx: Tx,
  partitions: Partitions,
  vantage: string,
  vantageNo: number,
  batch: Batch,
  now: number,
): Promise<Taken> {
  const ids = [...new Set(batch.results.map((r) => r.monitor))];
  const [locked, watched] = await Promise.all([lockStates(tx, ids), monitorsOf(tx, ids)]);
  const states = new Map(locked.map((s) => [s.monitor_id, s]));
  // Deleted monitors and those of other vantages are not found; what is said of them concerns nobody.
  const monitors = watched.filter((m) => states.has(m.id) && m.vantages.includes(vantage));
  if (!monitors.length) return untaken('stored');
  const byMonitor = Map.groupBy(timed(batch, now), (r) => r.monitor);
  const told = monitors.flatMap((m) => byMonitor.get(m.id)!);
  const isExcluded = await exclusion(tx, monitors, told, now);

  await partitions.cover(
    tx,
    told.map((r) => r.at),
  );
  const [known] = await Promise.all([
    opinionsOf(
      tx,
      monitors.map((m) => m.id),
    ),
    insertResults(
      tx,
      vantageNo,
      monitors.flatMap((m) => byMonitor.get(m.id)!.map((r) => stored(r, m, isExcluded(m, r.at)))),
    ),
  ]);
  const opinions = Map.groupBy(known, (o) => o.monitor_id);
  const changes: OpinionChange[] = [];
  const failures: StoredFailure[] = [];
  const moved: Moved[] = [];
  for (const monitor of monitors) {
    const results = byMonitor.get(monitor.id)!;
    const state = states.get(monitor.id)!;
    const before = standingOf(state);
    const taken = takeIn(
      watchedOf(monitor),
      before,
      new Map((opinions.get(monitor.id) ?? []).map((o) => [o.vantage, opinionOf(o)])),
      vantage,
      results,
      now,
    );
    changes.push({ id: monitor.id, ...opinionChange(taken.opinion), ...tally(results) });
    failures.push(...taken.failures.map(({ result, attempt }) => failureOf(monitor, vantage, result, attempt)));
    if (taken.standing !== before)
      moved.push({ monitor, state, change: { id: monitor.id, ...standingChange(taken.standing) }, transitions: taken.transitions });
  }
  const kept = await withoutAnswers(app, tx, failures);
  await Promise.all([writeOpinions(tx, vantage, changes), kept.length && insertFailures(tx, kept)]);
  if (moved.length) await record(tx, moved);
  return { is: 'stored', results: told, transitions: moved.reduce((n, m) => n + m.transitions.length, 0) };
}

/** Oldest first, however they were sent. */
const timed = (batch: Batch, now: number): Timed[] =>
  batch.results
    .map((r) => ({
      ...r,
      ...(r.errorDetail === undefined ? {} : { errorDetail: withoutQueries(r.errorDetail) }),
      at: Math.round(now - r.ageMs),
      degraded: batch.degraded,
    }))
    .sort((a, b) => a.at - b.at);

/** Whether a time lies in planned work on a monitor's service. */
async function exclusion(tx: Tx, monitors: readonly MonitorRow[], told: readonly Timed[], now: number) {
  const services = [
    ...new Map(monitors.flatMap((m) => (m.service_id ? [[m.service_id, { org: m.org_id, id: m.service_id }] as const] : []))).values(),
  ];
  if (!services.length) return () => false;
  const oldest = told.reduce((least, r) => Math.min(least, r.at), now);
  const windows = (await windowsBetween(tx, services, iso(oldest), iso(now))).map((w) => ({
    service: w.service_id,
    from: Date.parse(w.starts_at),
    until: Date.parse(w.ends_at),
  }));
  return (m: MonitorRow, at: number) => windows.some((w) => w.service === m.service_id && w.from <= at && at < w.until);
}

const stored = (r: Timed, m: MonitorRow, isPlanned: boolean): StoredResult => ({
  at: iso(r.at),
  monitorNo: m.no,
  outcome: outcomes.indexOf(r.outcome),
  excluded: r.degraded || isPlanned,
  degraded: r.degraded,
  latency: r.latencyMs ?? null,
  resolve: r.phases?.resolve ?? null,
  connect: r.phases?.connect ?? null,
  tls: r.phases?.tls ?? null,
  firstByte: r.phases?.firstByte ?? null,
  transfer: r.phases?.transfer ?? null,
  status: r.status ?? null,
});

const failureOf = (m: MonitorRow, vantage: string, r: Timed, attempt: number): StoredFailure => ({
  org: m.org_id,
  monitorId: m.id,
  at: iso(r.at),
  vantage,
  attempt,
  outcome: r.outcome,
  errorKind: r.errorKind ?? 'protocol',
  errorDetail: r.errorDetail ?? '',
  snippet: r.snippet ?? '',
});

/**
 * Without what came back from checks that sent something hidden. Probers leave it out themselves, but not those of an earlier release, nor
 * what one of them had buffered. A target that cannot be opened may hide anything.
 */
async function withoutAnswers({ secrets }: App, tx: Tx, failures: readonly StoredFailure[]): Promise<StoredFailure[]> {
  const telling = [...new Set(failures.filter((f) => f.snippet !== '').map((f) => f.monitorId))];
  const open = (telling.length ? await sealedOf(tx, telling) : []).filter((m) => {
    const target = openedTarget(secrets, m);
    return target !== undefined && !sendsHidden(target);
  });
  const mayTell = new Set(open.map((m) => m.id));
  return failures.map((f) => ({ ...f, snippet: mayTell.has(f.monitorId) ? withoutQueries(f.snippet) : '' }));
}

/** What one monitor's results add to its counters, and the newest of them for those who scrape. */
function tally(results: readonly Timed[]) {
  const count = (outcome: Result['outcome']) => results.filter((r) => r.outcome === outcome).length;
  const made = results.filter((r) => r.outcome !== 'missed' && r.latencyMs !== undefined);
  const latencyHist = emptyHistogram();
  for (const r of made) latencyHist[latencyBucket(r.latencyMs!)]!++;
  const { monitor, epoch, ageMs, degraded, at, snippet, ...latest } = results.at(-1)!;
  const skipped = results.findLast((r) => r.outcome === 'missed' && isMissedKind(r.errorKind));
  return {
    latest,
    latestAt: iso(at),
    passed: count('pass'),
    failed: count('fail'),
    errors: count('error'),
    missed: count('missed'),
    latencySum: made.reduce((sum, r) => sum + r.latencyMs! / 1000, 0),
    latencyHist,
    skippedAt: skipped ? iso(skipped.at) : null,
    skippedBecause: skipped?.errorKind ?? null,
  };
}
