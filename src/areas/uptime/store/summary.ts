import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';
import type { Pagination } from '../../../kernel/pagination.ts';
import type { Visible } from '../../../kernel/sql.ts';
import { cellSeconds, cells } from '../rules/summary.ts';
import { reached } from './monitors.ts';

const State = Type.Union([Type.Literal('pending'), Type.Literal('up'), Type.Literal('down')]);
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const SummaryRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  kind: Type.Union([Type.Literal('http'), Type.Literal('tcp')]),
  enabled: Type.Boolean(),
  service_id: nullable(Type.String()),
  state: State,
  since: Type.String(),
  latency: nullable(Type.Number()),
  /** Four numbers for each half hour, as `halfHoursOf` reads them. */
  half_hours: nullable(Type.String()),
});
export type SummaryRow = Static<typeof SummaryRow>;

/**
 * Half hours come as one text for each monitor: 48 rows of each would take longer to read than all the rest. They are joined as a whole, so that
 * the planner chooses: a thousand monitors are read in one pass, a few by the index.
 */
export const summaryOf = (tx: Tx, org: string, visible: Visible, firstCell: number, { limit, after }: Pagination) => rows(tx, SummaryRow)`
  with m as materialized (
         select * from uptime.monitor m
          where m.org_id = ${org} and m.deleted_at is null and ${reached(visible)} and (${after}::text is null or m.id < ${after})
          order by m.id desc limit ${limit + 1}),
       h as (
         select c.monitor_no,
                array_agg(array[c.half_hour - ${firstCell}::int, c.n, c.ok, (case when c.ok > 0 then c.ok_ms else c.bad_ms end)::int])::text as half_hours
           from uptime.check_half_hour c join m on m.no = c.monitor_no
          where c.half_hour >= ${firstCell}::int and c.n > 0
          group by c.monitor_no)
  select m.id, m.name, m.kind, m.enabled, m.service_id, s.state, s.since, l.latency, h.half_hours
    from m join uptime.monitor_state s on s.monitor_id = m.id
    left join lateral (select (v.latest ->> 'latencyMs')::float8 as latency from uptime.vantage_state v
                        where v.monitor_id = m.id and v.vantage = any(m.vantages) and v.last_at is not null and v.latest ? 'latencyMs'
                        order by v.latest_at desc limit 1) l on true
    left join h on h.monitor_no = m.no
   order by m.id desc`;

const CountsRow = Type.Object({ up: Type.Integer(), down: Type.Integer(), pending: Type.Integer(), disabled: Type.Integer() });

export const countsOf = async (tx: Tx, org: string, visible: Visible) =>
  (await row(tx, CountsRow)`
    select count(*) filter (where m.enabled and s.state = 'up')::int as up, count(*) filter (where m.enabled and s.state = 'down')::int as down,
           count(*) filter (where m.enabled and s.state = 'pending')::int as pending, count(*) filter (where not m.enabled)::int as disabled
      from uptime.monitor m join uptime.monitor_state s on s.monitor_id = m.id
     where m.org_id = ${org} and m.deleted_at is null and ${reached(visible)}`)!;

const ChangeRow = Type.Object({ monitor_id: Type.String(), since: Type.String(), from_state: State, to_state: State });

export type ChangeRow = Static<typeof ChangeRow>;

/** Read at most of one monitor: one that flaps all day has thousands. */
export const maxChanges = 100;

/** Transitions within the bars, the newest of each monitor, newest first. */
export const recentChanges = (tx: Tx, ids: readonly string[]) => rows(tx, ChangeRow)`
  select m.id as monitor_id, t.since, t.from_state, t.to_state
    from unnest(${ids}::text[]) as m(id) cross join lateral (
         select at, id, since, from_state, to_state from uptime.transition
          where monitor_id = m.id and at > kernel.now() - make_interval(secs => ${cells * cellSeconds})
          order by at desc, id desc limit ${maxChanges}) t
   order by m.id, t.at desc, t.id desc`;
