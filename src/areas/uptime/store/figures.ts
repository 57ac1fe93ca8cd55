import Type from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';
import { goneSeconds } from '../../../protocols/agent.ts';

const VantageFigures = Type.Object({
  vantage: Type.String(),
  /** Probers that report now. */
  live: Type.Integer(),
  degraded: Type.Integer(),
  /** Age of the newest result of the monitor that is furthest behind, in its own intervals; null: no monitors. */
  intervals: Type.Union([Type.Number(), Type.Null()]),
  seconds: Type.Union([Type.Number(), Type.Null()]),
});

export const vantageFigures = (tx: Tx) => rows(tx, VantageFigures)`
  select v.id as vantage,
         (select count(*)::int from uptime.instance i where i.vantage = v.id and not i.standby and i.seen_at > c.gone) as live,
         (select count(*)::int from uptime.instance i where i.vantage = v.id and not i.standby and i.degraded and i.seen_at > c.gone) as degraded,
         w.intervals, w.seconds
    from uptime.vantage v, (select kernel.now() as now, kernel.now() - make_interval(secs => ${goneSeconds}) as gone offset 0) c,
         lateral (select max(extract(epoch from c.now - greatest(s.latest_at, m.updated_at)) / m.interval_seconds)::float8 as intervals,
                         max(extract(epoch from c.now - greatest(s.latest_at, m.updated_at)))::float8 as seconds
                    from uptime.monitor m left join uptime.vantage_state s on s.monitor_id = m.id and s.vantage = v.id
                   where m.deleted_at is null and m.enabled and v.id = any(m.vantages)) w
   order by v.id`;

const StateFigures = Type.Object({ state: Type.String(), monitors: Type.Integer() });

export const stateFigures = (tx: Tx) => rows(tx, StateFigures)`
  select s.state, count(*)::int as monitors from uptime.monitor m join uptime.monitor_state s on s.monitor_id = m.id
   where m.deleted_at is null and m.enabled group by s.state`;

export const flappingMonitors = async (tx: Tx): Promise<number> =>
  (await row(tx, Type.Object({ count: Type.Integer() }))`
    select count(*)::int as count from uptime.monitor m join uptime.monitor_state s on s.monitor_id = m.id where m.deleted_at is null and s.flapping`)!
    .count;
