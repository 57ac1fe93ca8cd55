import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { type Batch, outcomes, sendsHidden, withoutQueries } from '../../../protocols/agent.ts';
import { applyResults } from '../rules/apply-results.ts';
import { isMissedKind } from '../rules/conditions.ts';
import type { ReportedCheck } from '../rules/down.ts';
import { emptyHistogram, latencyBucket } from '../rules/latency.ts';
import { openedTarget } from '../rules/sealed-target.ts';
import { beginBatch, lastBatch, type ProberIdentity } from '../store/instances.ts';
import type { MonitorRow } from '../store/monitor-row.ts';
import { insertFailures, insertResults, type StoredFailure, type StoredResult } from '../store/results.ts';
import { lockStates, monitorsOf, sealedOf } from '../store/states.ts';
import { type VantageStateChange, vantageStatesOf, writeVantageStates } from '../store/vantage-states.ts';
import { windowsBetween } from '../store/windows.ts';
import { shareAgent } from './agent-registry.ts';
import type { Partitions } from './partitions.ts';
import { recordTransitions, type StateMove } from './record.ts';
import { iso, statusChange, statusOf, vantageStateChange, vantageStateOf, watchedOf } from './status-rows.ts';

type Result = Batch['results'][number];
type TimedResult = Result & ReportedCheck;

export interface IngestedBatch {
  status: 'stored' | 'known' | 'no session' | 'revoked';
  /** Results by outcome, and changes of state, for the metrics. */
  results: Result[];
  transitions: number;
}

const withoutResults = (is: IngestedBatch['status']): IngestedBatch => ({ status: is, results: [], transitions: 0 });

/** One batch, one transaction: it is stored whole, once, or not at all. */
export const ingestBatch = (app: App, partitions: Partitions, by: ProberIdentity, batch: Batch): Promise<IngestedBatch> =>
  app.db.write(async (tx) => {
    const [, begun] = await Promise.all([shareAgent(tx, by.agentId), beginBatch(tx, by, batch)]);
    if (!begun) {
      const last = await lastBatch(tx, by, batch.instance);
      return withoutResults(last.revoked ? 'revoked' : last.seq === null ? 'no session' : 'known');
    }
    return batch.results.length
      ? storeResults(app, tx, partitions, by.vantage, begun.vantage_no, batch, Date.parse(begun.now))
      : withoutResults('stored');
  });

async function storeResults(
  app: App,
  tx: Tx,
  partitions: Partitions,
  vantage: string,
  vantageNo: number,
  batch: Batch,
  now: number,
): Promise<IngestedBatch> {
  const ids = [...new Set(batch.results.map((r) => r.monitor))];
  const [locked, watched] = await Promise.all([lockStates(tx, ids), monitorsOf(tx, ids)]);
  const states = new Map(locked.map((s) => [s.monitor_id, s]));
  // Results of deleted monitors, or of monitors that this vantage does not watch, are dropped.
  const monitors = watched.filter((m) => states.has(m.id) && m.vantages.includes(vantage));
  if (!monitors.length) return withoutResults('stored');
  const byMonitor = Map.groupBy(withTimes(batch, now), (r) => r.monitor);
  const reported = monitors.flatMap((m) => byMonitor.get(m.id)!);
  const isExcluded = await exclusion(tx, monitors, reported, now);

  await partitions.ensure(
    tx,
    reported.map((r) => r.at),
  );
  const [known] = await Promise.all([
    vantageStatesOf(
      tx,
      monitors.map((m) => m.id),
    ),
    insertResults(
      tx,
      vantageNo,
      monitors.flatMap((m) => byMonitor.get(m.id)!.map((r) => storedResult(r, m, isExcluded(m, r.at)))),
    ),
  ]);
  const opinions = Map.groupBy(known, (o) => o.monitor_id);
  const changes: VantageStateChange[] = [];
  const failures: StoredFailure[] = [];
  const moved: StateMove[] = [];
  for (const monitor of monitors) {
    const results = byMonitor.get(monitor.id)!;
    const state = states.get(monitor.id)!;
    const before = statusOf(state);
    const taken = applyResults(
      watchedOf(monitor),
      before,
      new Map((opinions.get(monitor.id) ?? []).map((o) => [o.vantage, vantageStateOf(o)])),
      vantage,
      results,
      now,
    );
    changes.push({ id: monitor.id, ...vantageStateChange(taken.vantageState), ...tally(results) });
    for (const { result, attempt } of taken.failures) failures.push(failureOf(monitor, vantage, result, attempt));
    if (taken.status !== before)
      moved.push({ monitor, state, change: { id: monitor.id, ...statusChange(taken.status) }, transitions: taken.transitions });
  }
  const kept = await withoutSecretSnippets(app, tx, failures);
  await Promise.all([writeVantageStates(tx, vantage, changes), kept.length && insertFailures(tx, kept)]);
  if (moved.length) await recordTransitions(tx, moved);
  return { status: 'stored', results: reported, transitions: moved.reduce((n, m) => n + m.transitions.length, 0) };
}

/** Oldest first, however they were sent. */
const withTimes = (batch: Batch, now: number): TimedResult[] =>
  batch.results
    .map((r) => ({
      ...r,
      ...(r.errorDetail === undefined ? {} : { errorDetail: withoutQueries(r.errorDetail) }),
      at: Math.round(now - r.ageMs),
      degraded: batch.degraded,
    }))
    .sort((a, b) => a.at - b.at);

/** Whether a time lies in a maintenance window of a monitor's service. */
async function exclusion(tx: Tx, monitors: readonly MonitorRow[], reported: readonly TimedResult[], now: number) {
  const services = [
    ...new Map(monitors.flatMap((m) => (m.service_id ? [[m.service_id, { org: m.org_id, id: m.service_id }] as const] : []))).values(),
  ];
  if (!services.length) return () => false;
  const oldest = reported.reduce((least, r) => Math.min(least, r.at), now);
  const windows = (await windowsBetween(tx, services, iso(oldest), iso(now))).map((w) => ({
    service: w.service_id,
    from: Date.parse(w.starts_at),
    until: Date.parse(w.ends_at),
  }));
  return (m: MonitorRow, at: number) => windows.some((w) => w.service === m.service_id && w.from <= at && at < w.until);
}

const storedResult = (r: TimedResult, m: MonitorRow, isPlanned: boolean): StoredResult => ({
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

const failureOf = (m: MonitorRow, vantage: string, r: TimedResult, attempt: number): StoredFailure => ({
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
 * Removes answer snippets of checks that sent a secret. Probers of this release leave them out themselves; older probers, and batches that
 * those buffered, do not. A target that cannot be unsealed may hide a secret.
 */
async function withoutSecretSnippets({ secrets }: App, tx: Tx, failures: readonly StoredFailure[]): Promise<StoredFailure[]> {
  const telling = [...new Set(failures.filter((f) => f.snippet !== '').map((f) => f.monitorId))];
  const open = (telling.length ? await sealedOf(tx, telling) : []).filter((m) => {
    const target = openedTarget(secrets, m);
    return target !== undefined && !sendsHidden(target);
  });
  const mayTell = new Set(open.map((m) => m.id));
  return failures.map((f) => ({ ...f, snippet: mayTell.has(f.monitorId) ? withoutQueries(f.snippet) : '' }));
}

/** What one monitor's results add to its counters, and the newest result for scrapers. */
function tally(results: readonly TimedResult[]) {
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
