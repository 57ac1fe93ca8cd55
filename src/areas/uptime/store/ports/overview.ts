import Type from 'typebox';
import { row, rows, type Tx } from '../../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

const reached = (visible: Visible) => sql`(${isVisible(visible, sql`m.id`)} or ${isVisible(visible, sql`m.service_id`)})`;

const DownRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  service_id: Type.Union([Type.String(), Type.Null()]),
  since: Type.String(),
  total: Type.Integer(),
});

/** Monitors that are down, the newest first. */
export const monitorsDown = (tx: Tx, org: string, visible: Visible, limit: number) => rows(tx, DownRow)`
  select m.id, m.name, m.service_id, coalesce(s.failing_since, s.since) as since, count(*) over ()::int as total
    from uptime.monitor m join uptime.monitor_state s on s.monitor_id = m.id
   where m.org_id = ${org} and m.deleted_at is null and m.enabled and s.state = 'down' and ${reached(visible)}
   order by s.since desc, m.id limit ${limit}`;

const VantageRow = Type.Object({ vantage: Type.String() });

/** The vantages that check the organization's monitors. */
export const vantagesInUse = async (tx: Tx, org: string, visible: Visible): Promise<Set<string>> =>
  new Set(
    (
      await rows(tx, VantageRow)`
        select distinct v.vantage from uptime.monitor m, unnest(m.vantages) v(vantage)
         where m.org_id = ${org} and m.deleted_at is null and m.enabled and ${reached(visible)}`
    ).map(({ vantage }) => vantage),
  );

/** Without the lock of `countMonitors`: a figure to show. */
export const monitorCount = async (tx: Tx, org: string): Promise<number> =>
  (await row(tx, Type.Object({ n: Type.Integer() }))`
    select count(*)::int as n from uptime.monitor where org_id = ${org} and deleted_at is null`)!.n;
