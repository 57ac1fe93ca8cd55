import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';
import type { Latest } from '../rules/export-families.ts';
import { PublicTargetRow } from './monitor-row.ts';

const SeenRow = Type.Object({
  vantage: Type.String(),
  latest: Type.Unsafe<Latest>({ type: 'object', required: ['outcome'] }),
  age: Type.Number(),
  passed: Type.Integer(),
  failed: Type.Integer(),
  errors: Type.Integer(),
  missed: Type.Integer(),
  latencySum: Type.Number(),
  latencyHist: Type.Array(Type.Integer()),
});

const ExportedRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  service_id: Type.Union([Type.String(), Type.Null()]),
  kind: Type.Union([Type.Literal('http'), Type.Literal('tcp')]),
  target: PublicTargetRow,
  enabled: Type.Boolean(),
  interval_seconds: Type.Integer(),
  timeout_ms: Type.Integer(),
  state: Type.Union([Type.Literal('pending'), Type.Literal('up'), Type.Literal('down')]),
  flapping: Type.Boolean(),
  seen: Type.Array(SeenRow),
});
export type ExportedRow = Static<typeof ExportedRow>;

/** Live monitors, by id, with the newest result of each vantage. A vantage that has not checked the current target yet is left out. */
export const exportedOf = (tx: Tx, org: string, after: string, limit: number) => rows(tx, ExportedRow)`
  select m.id, m.name, m.service_id, m.kind, m.target, m.enabled, m.interval_seconds, m.timeout_ms, s.state, s.flapping,
         coalesce((select jsonb_agg(jsonb_build_object(
                            'vantage', v.vantage, 'latest', v.latest, 'age', extract(epoch from kernel.now() - v.latest_at)::float8,
                            'passed', v.passed, 'failed', v.failed, 'errors', v.errors, 'missed', v.missed,
                            'latencySum', v.latency_sum, 'latencyHist', v.latency_hist) order by v.vantage)
                     from uptime.vantage_state v
                    where v.monitor_id = m.id and v.vantage = any(m.vantages) and v.last_at is not null and v.latest is not null), '[]') as seen
    from uptime.monitor m join uptime.monitor_state s on s.monitor_id = m.id
   where m.org_id = ${org} and m.id > ${after} and m.deleted_at is null order by m.id limit ${limit}`;
