import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';
import { PublicTargetRow, Sealed } from './monitor-row.ts';

/** Everything below it has committed: see `nextRevision`. */
export const newestRevision = async (tx: Tx): Promise<number> =>
  (await row(tx, Type.Object({ revision: Type.Integer() }))`select coalesce(max(revision), 0)::bigint as revision from uptime.monitor`)!
    .revision;

const AssignmentRow = Type.Object({
  id: Type.String(),
  org_id: Type.String(),
  /** False: deleted, disabled, or not this vantage's. */
  ours: Type.Boolean(),
  kind: Type.Union([Type.Literal('http'), Type.Literal('tcp')]),
  target: PublicTargetRow,
  sealed: Sealed,
  revision: Type.Integer(),
  epoch: Type.Integer(),
  interval_seconds: Type.Integer(),
  timeout_ms: Type.Integer(),
  confirmations: Type.Integer(),
  fail_streak: Type.Integer(),
  pass_streak: Type.Integer(),
  verdict: Type.Union([Type.Literal('unknown'), Type.Literal('passing'), Type.Literal('failing')]),
});
export type AssignmentRow = Static<typeof AssignmentRow>;

/** What changed for a vantage after a revision. */
export const changedSince = (tx: Tx, vantage: string, revision: number) => rows(tx, AssignmentRow)`
  select m.id, m.org_id, m.deleted_at is null and m.enabled and ${vantage} = any(m.vantages) as ours, m.kind, m.target, m.sealed, m.revision,
         m.epoch, m.interval_seconds, m.timeout_ms, m.confirmations, coalesce(s.fail_streak, 0) as fail_streak, coalesce(s.pass_streak, 0) as pass_streak,
         coalesce(s.verdict, 'unknown') as verdict
    from uptime.monitor m left join uptime.vantage_state s on s.monitor_id = m.id and s.vantage = ${vantage}
   where m.revision > ${revision} order by m.id`;

export const allOf = (tx: Tx, vantage: string) => rows(tx, AssignmentRow)`
  select m.id, m.org_id, true as ours, m.kind, m.target, m.sealed, m.revision, m.epoch, m.interval_seconds, m.timeout_ms, m.confirmations,
         coalesce(s.fail_streak, 0) as fail_streak, coalesce(s.pass_streak, 0) as pass_streak, coalesce(s.verdict, 'unknown') as verdict
    from uptime.monitor m left join uptime.vantage_state s on s.monitor_id = m.id and s.vantage = ${vantage}
   where m.deleted_at is null and m.enabled and ${vantage} = any(m.vantages) order by m.id`;

export const hasWork = async (tx: Tx, vantage: string): Promise<boolean> =>
  (await row(tx, Type.Object({ any: Type.Boolean() }))`
    select exists (select from uptime.monitor where deleted_at is null and enabled and ${vantage} = any(vantages)) as any`)!.any;
