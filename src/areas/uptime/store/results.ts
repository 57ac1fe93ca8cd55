import { run, type Tx } from '../../../kernel/db/index.ts';

export interface StoredResult {
  at: string;
  monitorNo: number;
  /** As in the migration: 0 pass, 1 fail, 2 error, 3 missed. */
  outcome: number;
  excluded: boolean;
  latency: number | null;
  resolve: number | null;
  connect: number | null;
  tls: number | null;
  firstByte: number | null;
  transfer: number | null;
  status: number | null;
}

/** Every check and its step of five minutes in one statement: neither is there without the other. */
export const insertResults = (tx: Tx, vantageNo: number, results: readonly StoredResult[]) => {
  const column = <K extends keyof StoredResult>(key: K) => results.map((r) => r[key]);
  return run(tx)`
    with r as materialized (
      select * from unnest(${column('at')}::timestamptz[], ${column('monitorNo')}::bigint[], ${column('outcome')}::smallint[], ${column('excluded')}::boolean[],
                           ${column('latency')}::real[], ${column('resolve')}::real[], ${column('connect')}::real[], ${column('tls')}::real[],
                           ${column('firstByte')}::real[], ${column('transfer')}::real[], ${column('status')}::smallint[])
                      as r(at, monitor_no, outcome, excluded, latency, resolve, connect, tls, first_byte, transfer, status)),
    stored as (
      insert into uptime.check_result (at, monitor_no, vantage_no, outcome, excluded, latency, resolve, connect, tls, first_byte, transfer, status)
      select at, monitor_no, ${vantageNo}, outcome, excluded, latency, resolve, connect, tls, first_byte, transfer, status from r)
    insert into uptime.check_rollup as u (bucket, monitor_no, vantage_no, n, ok, missed, excluded, ok_ms, bad_ms)
    select date_bin('5 minutes', at, timestamptz '2000-01-01 00:00:00+00'), monitor_no, ${vantageNo},
           count(*) filter (where outcome < 3 and not excluded), count(*) filter (where outcome = 0 and not excluded),
           count(*) filter (where outcome = 3), count(*) filter (where outcome < 3 and excluded),
           coalesce(sum(latency::float8) filter (where outcome = 0 and not excluded), 0), coalesce(sum(latency::float8) filter (where outcome in (1, 2) and not excluded), 0)
      from r group by 1, 2 order by 2, 1
    on conflict (monitor_no, bucket, vantage_no) do update
       set n = u.n + excluded.n, ok = u.ok + excluded.ok, missed = u.missed + excluded.missed, excluded = u.excluded + excluded.excluded,
           ok_ms = u.ok_ms + excluded.ok_ms, bad_ms = u.bad_ms + excluded.bad_ms`;
};

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
