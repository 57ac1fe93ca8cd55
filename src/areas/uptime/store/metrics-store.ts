import Type, { type Static } from 'typebox';
import { type Db, rows, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';
import type { Span } from '../rules/windows.ts';

const BucketRow = Type.Object({
  vantage: Type.String(),
  t: Type.Integer(),
  n: Type.Integer(),
  ok: Type.Integer(),
  ok_ms: Type.Number(),
  bad_ms: Type.Number(),
  missed: Type.Integer(),
});
/**
 * Checks of one vantage in one step: how many counted, how many passed, the total time of the passing and of the other checks, and how many
 * were missed.
 */
export type Bucket = Static<typeof BucketRow>;

/** Where checks are kept: PostgreSQL now; another store of time series may replace it. */
export interface MetricsStore {
  /** Oldest first; a step without a check that counts or was missed is absent. `monitorNo` is the monitor's number in stored checks. */
  buckets(monitorNo: number, span: Span): Promise<Bucket[]>;
}

export const sqlMetrics = (db: Db): MetricsStore => ({
  buckets: (monitorNo, span) => db.read((tx) => (span.raw ? fromChecks(tx, monitorNo, span) : fromRollup(tx, monitorNo, span))),
});

/** Steps are aligned to 1970, so that buckets are the same in every answer. */
const binned = (time: Sql, step: number) => sql`date_bin(make_interval(secs => ${step}), ${time}, timestamptz 'epoch')`;
const from = ({ step, steps }: Span) => sql`(${binned(sql`kernel.now()`, step)} - make_interval(secs => ${step * (steps - 1)}))`;

const named = (buckets: Sql) => sql`
  select v.id as vantage, extract(epoch from b.t)::bigint as t, b.n, b.ok, b.ok_ms, b.bad_ms, b.missed
    from (${buckets}) b join uptime.vantage v on v.no = b.vantage_no
   order by v.no, b.t`;

/** Checks during maintenance count in no figure; missed checks are only counted. */
const fromChecks = (tx: Tx, monitorNo: number, span: Span) =>
  rows(tx, BucketRow)`${named(sql`
  select vantage_no, ${binned(sql`at`, span.step)} as t, (count(*) filter (where outcome <> 3))::int as n, (count(*) filter (where outcome = 0))::int as ok,
         coalesce(sum(latency::float8) filter (where outcome = 0), 0) as ok_ms,
         coalesce(sum(latency::float8) filter (where outcome in (1, 2)), 0) as bad_ms, (count(*) filter (where outcome = 3))::int as missed
    from uptime.check_result
   where monitor_no = ${monitorNo} and at >= ${from(span)} and (not excluded or outcome = 3)
   group by 1, 2`)}`;

const fromRollup = (tx: Tx, monitorNo: number, span: Span) =>
  rows(tx, BucketRow)`${named(sql`
  select vantage_no, ${binned(sql`bucket`, span.step)} as t, sum(n)::int as n, sum(ok)::int as ok, sum(ok_ms) as ok_ms, sum(bad_ms) as bad_ms,
         sum(missed)::int as missed
    from uptime.check_rollup
   where monitor_no = ${monitorNo} and bucket >= ${from(span)} and n + missed > 0
   group by 1, 2`)}`;
