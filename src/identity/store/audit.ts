import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../kernel/db/index.ts';
import { type Pagination, withinListBytes } from '../../kernel/pagination.ts';
import { type Sql, sql } from '../../kernel/sql.ts';
import { idTime } from '../../kernel/time.ts';

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

export interface AuditFilters {
  from?: string | undefined;
  /** Without this moment. */
  to?: string | undefined;
  /** Ids of actors. */
  actors?: readonly string[] | undefined;
  target?: string | undefined;
  /** What the action begins with. */
  action?: string | undefined;
}

/** The newest first. Each filter has an index; of several, one is used and the others leave rows out. */
export const listAuditRows = (tx: Tx, org: string, filters: AuditFilters, { limit, after }: Pagination) => rows(tx, AuditRow)`
  select id, at, actor, actor_label, token_id, action, target, request_id, case when is_beyond then '{}' else detail end as detail, is_beyond
    from ${withinListBytes(sql`detail`, listSql(org, filters, after, limit + 1))} a order by id desc`;

const all = sql`true`;

/** Ids begin with the time, so the index bounds the time as well; a minute more, because the row reads the clock again. */
const idAt = (ms: number) => `aud_${idTime(ms)}`;
const slackMs = 60_000;

/** A target has few rows, so it goes before an actor, and that before an action. */
function listSql(org: string, filters: AuditFilters, after: string | null, limit: number): Sql {
  const { from, to, actors, target, action } = filters;
  const wanted = sql`a.org_id = ${org} and (${after}::text is null or a.id < ${after})
    and ${from === undefined ? all : sql`(a.id >= ${idAt(Date.parse(from) - slackMs)} and a.at >= ${from})`}
    and ${to === undefined ? all : sql`(a.id < ${idAt(Date.parse(to) + slackMs)} and a.at < ${to})`}`;
  const hasAction = action === undefined ? all : sql`starts_with(a.action, ${action})`;
  const hasActor = actors === undefined ? all : sql`a.actor = any(${actors}::text[])`;
  if (target !== undefined)
    return newestOfEach(sql`select ${target}::text`, sql`a.target`, sql`${wanted} and ${hasActor} and ${hasAction}`, limit);
  if (actors !== undefined)
    return newestOfEach(sql`select unnest(${actors}::text[])`, sql`a.actor`, sql`${wanted} and ${hasAction}`, limit);
  if (action !== undefined) return newestOfEach(actionsWith(org, action), sql`a.action collate "C"`, wanted, limit);
  return sql`select * from kernel.audit a where ${wanted} order by a.id desc limit ${limit}`;
}

/**
 * The newest rows of several keys: of each the newest from its index, and of these the newest. A range and an order that begins with the column
 * are what the index of the column alone can give: by an equality, the planner would rather walk through all rows of the organization. Rows
 * are fetched one by one, because a plan from a table without statistics would read all of it.
 */
const newestOfEach = (keys: Sql, column: Sql, wanted: Sql, limit: number) => sql`
  select r.* from (
    select newest.id from (${keys}) k(key)
     cross join lateral (
           select a.id from kernel.audit a where ${wanted} and ${column} >= k.key and ${column} <= k.key order by ${column}, a.id desc limit ${limit}) newest
     order by newest.id desc limit ${limit}) i
   cross join lateral (select * from kernel.audit where id = i.id offset 0) r`;

/** The actions of an organization with this beginning, read one by one from the index: there are fewer than two hundred, and millions of rows. */
const actionsWith = (org: string, prefix: string) => sql`
  with recursive known(action) as (
    (select action from kernel.audit where org_id = ${org} and action collate "C" >= ${prefix} order by action collate "C" limit 1)
    union all
    select (select n.action from kernel.audit n where n.org_id = ${org} and n.action collate "C" > k.action order by n.action collate "C" limit 1)
      from known k where starts_with(k.action, ${prefix}))
  select action from known where starts_with(action, ${prefix})`;

/**
 * Entries between two times whose action begins with one of these, the newest first; their ids are in order of time. Each action is read by its
 * index: an organization may have hundreds of thousands of other entries in the time of one incident.
 */
export const auditBetween = (
  tx: Tx,
  org: string,
  { from, until }: { from: string; until: string },
  actions: readonly string[],
  limit: number,
) => {
  const known = sql`
    select k.action from (${actionsWith(org, '')}) k
     where exists (select from unnest(${actions}::text[]) b(beginning) where starts_with(k.action, b.beginning))`;
  const wanted = sql`a.org_id = ${org} and a.id >= ${idAt(Date.parse(from))} and a.id < ${idAt(Date.parse(until) + 1)}
    and a.at >= ${from} and a.at <= ${until}`;
  return rows(tx, AuditRow)`
    select id, at, actor, actor_label, token_id, action, target, request_id, case when is_beyond then '{}' else detail end as detail, is_beyond
      from ${withinListBytes(sql`detail`, newestOfEach(known, sql`a.action collate "C"`, wanted, limit))} a order by id desc`;
};

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
