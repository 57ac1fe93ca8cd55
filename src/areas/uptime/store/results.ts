import { run, type Tx } from '../../../kernel/db/index.ts';
import { migratedAt } from '../../../kernel/migrate.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

export interface StoredResult {
  at: string;
  monitorNo: number;
  /** As in the migration: 0 pass, 1 fail, 2 error, 3 missed. */
  outcome: number;
  excluded: boolean;
  /** Its prober suspected a fault of its own; the check is excluded then, with or without maintenance. */
  degraded: boolean;
  latency: number | null;
  resolve: number | null;
  connect: number | null;
  tls: number | null;
  firstByte: number | null;
  transfer: number | null;
  status: number | null;
}

/** The five-minute bucket of a check, and what the bucket aggregates. */
const bucketOf = sql`date_bin('5 minutes', at, timestamptz '2000-01-01 00:00:00+00')`;
const rolledUp = sql`
  count(*) filter (where outcome < 3 and not excluded), count(*) filter (where outcome = 0 and not excluded),
  count(*) filter (where outcome = 3), count(*) filter (where outcome < 3 and excluded),
  coalesce(sum(latency::float8) filter (where outcome = 0 and not excluded), 0),
  coalesce(sum(latency::float8) filter (where outcome in (1, 2) and not excluded), 0)`;

/** The half hour of a check, counted from 1970. Every half hour is a whole number of buckets. */
const halfHourOf = (time: Sql) => sql`floor(extract(epoch from ${time}) / 1800)::int`;
const countedChecks = sql`
  count(*) filter (where outcome < 3 and not excluded), count(*) filter (where outcome = 0 and not excluded),
  coalesce(sum(latency::float8) filter (where outcome = 0 and not excluded), 0),
  coalesce(sum(latency::float8) filter (where outcome in (1, 2) and not excluded), 0)`;

/** Checks, their five-minute buckets and their half hours in one statement: none is stored without the others. */
export const insertResults = (tx: Tx, vantageNo: number, results: readonly StoredResult[]) => {
  const column = <K extends keyof StoredResult>(key: K) => results.map((r) => r[key]);
  return run(tx)`
    with r as materialized (
      select * from unnest(${column('at')}::timestamptz[], ${column('monitorNo')}::bigint[], ${column('outcome')}::smallint[], ${column('excluded')}::boolean[],
                           ${column('latency')}::real[], ${column('resolve')}::real[], ${column('connect')}::real[], ${column('tls')}::real[],
                           ${column('firstByte')}::real[], ${column('transfer')}::real[], ${column('status')}::smallint[], ${column('degraded')}::boolean[])
                      as r(at, monitor_no, outcome, excluded, latency, resolve, connect, tls, first_byte, transfer, status, degraded)),
    stored as (
      insert into uptime.check_result (at, monitor_no, vantage_no, outcome, excluded, latency, resolve, connect, tls, first_byte, transfer, status, degraded)
      select at, monitor_no, ${vantageNo}, outcome, excluded, latency, resolve, connect, tls, first_byte, transfer, status, degraded from r),
    halved as (
      insert into uptime.check_half_hour as h (monitor_no, half_hour, n, ok, ok_ms, bad_ms)
      select monitor_no, ${halfHourOf(sql`at`)}, ${countedChecks} from r group by 1, 2 order by 1, 2
      on conflict (monitor_no, half_hour) do update
         set n = h.n + excluded.n, ok = h.ok + excluded.ok, ok_ms = h.ok_ms + excluded.ok_ms, bad_ms = h.bad_ms + excluded.bad_ms)
    insert into uptime.check_rollup as u (bucket, monitor_no, vantage_no, n, ok, missed, excluded, ok_ms, bad_ms)
    select ${bucketOf}, monitor_no, ${vantageNo}, ${rolledUp}
      from r group by 1, 2 order by 2, 1
    on conflict (monitor_no, bucket, vantage_no) do update
       set n = u.n + excluded.n, ok = u.ok + excluded.ok, missed = u.missed + excluded.missed, excluded = u.excluded + excluded.excluded,
           ok_ms = u.ok_ms + excluded.ok_ms, bad_ms = u.bad_ms + excluded.bad_ms`;
};

/** For checks stored before this time it is unknown whether their prober was at fault. */
export const faultsKnownSince = (tx: Tx): Promise<string> => migratedAt(tx, 'uptime/0008_degraded_checks');

/** A monitor's checks between two times. */
export interface Stretch {
  org: string;
  serviceId: string;
  monitorNo: number;
  from: string;
  to: string;
}

/** Checks that no maintenance window covers any more count again; returns how many. Called with the monitor's state locked. */
export const includeChecks = (tx: Tx, { org, serviceId, monitorNo, from, to }: Stretch) => run(tx)`
  update uptime.check_result r set excluded = false
   where r.monitor_no = ${monitorNo} and r.at >= ${from} and r.at < ${to} and r.excluded and not r.degraded
     and not exists (select from uptime.maintenance w
                      where w.org_id = ${org} and w.service_id = ${serviceId} and w.starts_at <= r.at and r.at < w.ends_at)`;

/** Rebuilds whole five-minute buckets from the checks. Called with the monitor's state locked, so no batch adds to them meanwhile. */
export const rebuildSteps = (tx: Tx, { monitorNo, from, to }: Stretch) => run(tx)`
  update uptime.check_rollup u set n = c.n, ok = c.ok, missed = c.missed, excluded = c.excluded, ok_ms = c.ok_ms, bad_ms = c.bad_ms
    from (select ${bucketOf}, vantage_no, ${rolledUp} from uptime.check_result
           where monitor_no = ${monitorNo} and at >= date_bin('5 minutes', ${from}::timestamptz, timestamptz '2000-01-01 00:00:00+00')
             and at < date_bin('5 minutes', ${to}::timestamptz, timestamptz '2000-01-01 00:00:00+00') + interval '5 minutes'
           group by 1, 2) as c(bucket, vantage_no, n, ok, missed, excluded, ok_ms, bad_ms)
   where u.monitor_no = ${monitorNo} and u.bucket = c.bucket and u.vantage_no = c.vantage_no`;

/** Rebuilds the half hours of all vantages from the buckets that `rebuildSteps` left. Called with the monitor's state locked. */
export const rebuildHalfHours = (tx: Tx, { monitorNo, from, to }: Stretch) => run(tx)`
  update uptime.check_half_hour h set n = c.n, ok = c.ok, ok_ms = c.ok_ms, bad_ms = c.bad_ms
    from (select ${halfHourOf(sql`bucket`)}, sum(n), sum(ok), sum(ok_ms), sum(bad_ms) from uptime.check_rollup
           where monitor_no = ${monitorNo} and bucket >= date_bin('30 minutes', ${from}::timestamptz, timestamptz 'epoch')
             and bucket < date_bin('30 minutes', ${to}::timestamptz, timestamptz 'epoch') + interval '30 minutes'
           group by 1) as c(half_hour, n, ok, ok_ms, bad_ms)
   where h.monitor_no = ${monitorNo} and h.half_hour = c.half_hour`;

/** Some of the half hours that no summary shows any more; how many. */
export const dropOldHalfHours = (tx: Tx, days: number, limit: number) => run(tx)`
  delete from uptime.check_half_hour where ctid in (
    select ctid from uptime.check_half_hour
     where half_hour < ${halfHourOf(sql`((select kernel.now()) - make_interval(days => ${days}))`)} limit ${limit} for update skip locked)`;

export interface StoredFailure {
  org: string;
  monitorId: string;
  at: string;
  vantage: string;
  attempt: number;
  outcome: string;
  errorKind: string;
  errorDetail: string;
  snippet: string;
}

export const insertFailures = (tx: Tx, failures: readonly StoredFailure[]) => run(tx)`
  insert into uptime.failure (org_id, id, monitor_id, at, vantage, attempt, outcome, error_kind, error_detail, response_snippet)
  select f.org, kernel.new_id('fai'), f."monitorId", f.at, f.vantage, f.attempt, f.outcome, f."errorKind", f."errorDetail", f.snippet
    from jsonb_to_recordset(${JSON.stringify(failures)}::jsonb)
           as f(org text, "monitorId" text, at timestamptz, vantage text, attempt int, outcome text, "errorKind" text, "errorDetail" text, snippet text)`;
