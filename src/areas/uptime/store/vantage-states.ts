import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { emptyHistogram } from '../rules/latency.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const OpinionRow = Type.Object({
  monitor_id: Type.String(),
  vantage: Type.String(),
  fail_streak: Type.Integer(),
  pass_streak: Type.Integer(),
  verdict: Type.Union([Type.Literal('unknown'), Type.Literal('passing'), Type.Literal('failing')]),
  failing_since: nullable(Type.String()),
  last_at: nullable(Type.String()),
});
export type VantageStateRow = Static<typeof OpinionRow>;

/** Called with the monitors' states locked, so the rows do not change meanwhile. */
export const vantageStatesOf = (tx: Tx, ids: readonly string[]) => rows(tx, OpinionRow)`
  select monitor_id, vantage, fail_streak, pass_streak, verdict, failing_since, last_at from uptime.vantage_state where monitor_id = any(${ids}::text[])`;

/** What a batch adds to one vantage's row. */
export interface VantageStateChange {
  id: string;
  failStreak: number;
  passStreak: number;
  verdict: string;
  failingSince: string | null;
  lastAt: string | null;
  latest: object;
  latestAt: string;
  passed: number;
  failed: number;
  errors: number;
  missed: number;
  latencySum: number;
  latencyHist: number[];
  /** The newest skipped check, and why; null: none was skipped. */
  skippedAt: string | null;
  skippedBecause: string | null;
}

export const writeVantageStates = (tx: Tx, vantage: string, changes: readonly VantageStateChange[]) => run(tx)`
  update uptime.vantage_state s
     set fail_streak = c."failStreak", pass_streak = c."passStreak", verdict = c.verdict, failing_since = c."failingSince", last_at = c."lastAt",
         latest = case when s.latest_at is null or c."latestAt" >= s.latest_at or s.latest_at > kernel.now() then c.latest else s.latest end,
         latest_at = case when s.latest_at is null or c."latestAt" >= s.latest_at or s.latest_at > kernel.now() then c."latestAt" else s.latest_at end,
         passed = s.passed + c.passed, failed = s.failed + c.failed, errors = s.errors + c.errors, missed = s.missed + c.missed,
         skipped_at = coalesce(c."skippedAt", s.skipped_at), skipped_because = coalesce(c."skippedBecause", s.skipped_because),
         latency_sum = s.latency_sum + c."latencySum",
         latency_hist = array(select a.n + b.n from unnest(s.latency_hist) with ordinality a(n, i)
                                join unnest(c."latencyHist") with ordinality b(n, i) using (i) order by i)
    from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
           as c(id text, "failStreak" int, "passStreak" int, verdict text, "failingSince" timestamptz, "lastAt" timestamptz, latest jsonb,
                "latestAt" timestamptz, passed int, failed int, errors int, missed int, "latencySum" float8, "latencyHist" bigint[],
                "skippedAt" timestamptz, "skippedBecause" text)
   where s.monitor_id = c.id and s.vantage = ${vantage}`;

/** Rewrites vantage states after the down rule changed. */
export const rewriteVantageStates = (
  tx: Tx,
  monitorId: string,
  changes: readonly (Pick<VantageStateChange, 'failStreak' | 'passStreak' | 'verdict' | 'failingSince'> & { vantage: string })[],
) => run(tx)`
  update uptime.vantage_state s set fail_streak = c."failStreak", pass_streak = c."passStreak", verdict = c.verdict, failing_since = c."failingSince"
    from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
           as c(vantage text, "failStreak" int, "passStreak" int, verdict text, "failingSince" timestamptz)
   where s.monitor_id = ${monitorId} and s.vantage = c.vantage`;

/** Gives every vantage of the monitor a row without a verdict; counters go on. */
export const resetVantageStates = async (tx: Tx, org: string, monitorId: string, vantages: readonly string[]): Promise<void> => {
  await run(tx)`
    update uptime.vantage_state set fail_streak = 0, pass_streak = 0, verdict = 'unknown', failing_since = null, last_at = null
     where monitor_id = ${monitorId}`;
  await run(tx)`
    insert into uptime.vantage_state (org_id, monitor_id, vantage, latency_hist)
    select ${org}, ${monitorId}, v, ${emptyHistogram()}::bigint[] from unnest(${vantages}::text[]) v on conflict do nothing`;
};

const SeenRow = Type.Object({
  vantage: Type.String(),
  verdict: OpinionRow.properties.verdict,
  failing_since: nullable(Type.String()),
  checked_at: nullable(Type.String()),
  latency: nullable(Type.Number()),
});
export type SeenRow = Static<typeof SeenRow>;

/** What each vantage sees of one monitor; a check that was missed is none. */
export const seenBy = (tx: Tx, monitorId: string) => rows(tx, SeenRow)`
  select vantage, verdict, failing_since, last_at as checked_at,
         case when last_at is not null then (latest ->> 'latencyMs')::float8 end as latency
    from uptime.vantage_state where monitor_id = ${monitorId}`;

const WordsRow = Type.Object({ monitor_id: Type.String(), vantage: Type.String(), detail: nullable(Type.String()) });
export type FailureDetailRow = Static<typeof WordsRow>;

/** The newest error detail of each vantage that sees these monitors fail. */
export const failureDetails = (tx: Tx, ids: readonly string[]) => rows(tx, WordsRow)`
  select monitor_id, vantage, case when latest ->> 'outcome' <> 'missed' then coalesce(latest ->> 'errorDetail', latest ->> 'errorKind') end as detail from uptime.vantage_state
   where monitor_id = any(${ids}::text[]) and verdict = 'failing' order by monitor_id, failing_since, vantage`;
