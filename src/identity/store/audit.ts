import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../kernel/db/index.ts';
import { type Pagination, withinListBytes } from '../../kernel/pagination.ts';
import { sql } from '../../kernel/sql.ts';

const AuditRow = Type.Object({
  id: Type.String(),
  at: Type.String(),
  actor: Type.String(),
  actor_label: Type.String(),
  token_id: Type.Union([Type.String(), Type.Null()]),
  action: Type.String(),
  target: Type.String(),
  request_id: Type.Union([Type.String(), Type.Null()]),
  detail: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
  /** Without its detail: see `maxListBytes`. */
  is_beyond: Type.Boolean(),
});
export type AuditRow = Static<typeof AuditRow>;

/** The newest first. */
export const listAuditRows = (tx: Tx, org: string, { limit, after }: Pagination) => rows(tx, AuditRow)`
  select id, at, actor, actor_label, token_id, action, target, request_id, case when is_beyond then '{}' else detail end as detail, is_beyond
    from ${withinListBytes(
      sql`detail`,
      sql`select * from kernel.audit
           where org_id = ${org} and (${after}::text is null or id < ${after}) order by id desc limit ${limit + 1}`,
    )} a order by id desc`;

export interface NewAuditRows {
  org: string;
  actor: string;
  label: string;
  token: string | null;
  action: string;
  requestId: string | null;
  targets: readonly { id: string; detail: Record<string, unknown> }[];
}

/** A row for each target, in one statement. */
export const insertAuditRows = (tx: Tx, a: NewAuditRows) => run(tx)`
  insert into kernel.audit (id, org_id, at, actor, actor_label, token_id, action, target, request_id, detail)
  select kernel.new_id('aud'), ${a.org}, kernel.now(), ${a.actor}, ${a.label}, ${a.token}, ${a.action}, target, ${a.requestId}, detail
    from unnest(${a.targets.map(({ id }) => id)}::text[], ${a.targets.map(({ detail }) => JSON.stringify(detail))}::jsonb[]) t(target, detail)`;

/** Deletes a batch of rows older than `days` days; ids are in order of time. */
export const deleteOldAudit = (tx: Tx, days: number, limit: number) => run(tx)`
  delete from kernel.audit where at < kernel.now() - make_interval(days => ${days})
     and id in (select id from kernel.audit order by id limit ${limit})`;
