import Type from 'typebox';
import { row, rows, type Tx } from '../../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

const LiveRow = Type.Object({
  id: Type.String(),
  title: Type.String(),
  status: Type.Unsafe<'open' | 'acknowledged'>({ type: 'string', enum: ['open', 'acknowledged'] }),
  service_id: Type.String(),
  service_name: Type.String(),
  opened_at: Type.String(),
  pages_me: Type.Boolean(),
  total: Type.Integer(),
});

export interface Counted {
  limit: number;
  /** Rows that are looked at, the newest first. */
  most: number;
}

/** Unresolved incidents: those that paged the user first. Each status and visible service is read by its own index. */
export const liveIncidents = (tx: Tx, org: string, visible: Visible, userId: string, { limit, most }: Counted) => {
  const services = visible === '*' ? sql`(select null) v(id)` : sql`unnest(${[...visible]}::text[]) v(id)`;
  const ofService = visible === '*' ? sql`true` : sql`i.service_id = v.id`;
  return rows(tx, LiveRow)`
    with live as (
      select n.* from unnest(${['open', 'acknowledged']}::text[]) s(status), ${services}, lateral (
               select i.id, i.title, i.status, i.service_id, i.service_name, i.opened_at from oncall.incident i
                where i.org_id = ${org} and i.status = s.status and ${ofService} order by i.id desc limit ${most}) n
       order by n.id desc limit ${most})
    select l.*, m.pages_me, count(*) over ()::int as total
      from live l, lateral (select exists (select from oncall.page p where p.org_id = ${org} and p.incident_id = l.id
                                              and p.user_id = ${userId} and p.state <> 'canceled') as pages_me) m
     order by m.pages_me desc, l.id desc limit ${limit}`;
};

const MineRow = Type.Object({ id: Type.String() });

/** Schedules whose rotation has the user, or a current or future override for them. */
export const scheduleIdsWith = async (tx: Tx, org: string, userId: string, limit: number): Promise<string[]> =>
  (
    await rows(tx, MineRow)`
      select id from oncall.schedule where org_id = ${org} and participants @> ${JSON.stringify([{ userId }])}::jsonb
      union
      select schedule_id from oncall.schedule_override where org_id = ${org} and user_id = ${userId} and ends_at > kernel.now()
      order by id limit ${limit}`
  ).map(({ id }) => id);

const SilentRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  problem: Type.String(),
  problem_at: Type.String(),
  total: Type.Integer(),
});

/** Alert sources that sent something within the last day that could not be taken in. */
export const sourcesWithProblems = (tx: Tx, org: string, visible: Visible, limit: number) => rows(tx, SilentRow)`
  select id, name, problem, problem_at, count(*) over ()::int as total from oncall.alert_source
   where org_id = ${org} and revoked_at is null and problem is not null and problem_at > kernel.now() - interval '1 day'
     and ${isVisible(visible, sql`service_id`)}
   order by problem_at desc limit ${limit}`;

const StepsRow = Type.Object({ has_schedule: Type.Boolean(), has_policy: Type.Boolean(), has_paging: Type.Boolean() });

/** What of the first steps is done. */
export const stepsDone = async (tx: Tx, org: string, userId: string) =>
  (await row(tx, StepsRow)`
    select exists (select from oncall.schedule where org_id = ${org} and participants <> '[]') as has_schedule,
           exists (select from oncall.service_policy where org_id = ${org}) as has_policy,
           exists (select from oncall.paging_settings where user_id = ${userId}) as has_paging`)!;

const BrokenRow = Type.Object({ broken: Type.String(), updated_at: Type.String() });

/** Undefined: no provider, or one that works. */
export const brokenProvider = (tx: Tx, org: string) => row(tx, BrokenRow)`
  select broken, updated_at from oncall.provider where org_id = ${org} and broken is not null`;
