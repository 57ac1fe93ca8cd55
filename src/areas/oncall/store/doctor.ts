import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { type ChannelName, channelNames } from '../rules/channels.ts';
import type { Step } from '../rules/escalation.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const StepsRow = Type.Object({ service_id: Type.String(), policy_id: Type.String(), steps: Type.Unsafe<Step[]>({ type: 'array' }) });
/** The policy steps of these services. */
export const stepsOfServices = (tx: Tx, org: string, serviceIds: readonly string[]) => rows(tx, StepsRow)`
  select s.service_id, s.policy_id, p.steps from oncall.service_policy s join oncall.policy p on p.org_id = s.org_id and p.id = s.policy_id
   where s.org_id = ${org} and s.service_id = any(${serviceIds}::text[])`;

const FailureRow = Type.Object({
  user_id: Type.String(),
  channel: Type.Unsafe<ChannelName>({ type: 'string', enum: [...channelNames] }),
  error: nullable(Type.String()),
  at: Type.String(),
});
/** People and channels whose last page failed within the last `days`. */
export const lastFailures = (tx: Tx, org: string, userIds: readonly string[], channels: readonly ChannelName[], days: number) =>
  rows(tx, FailureRow)`
    select u.id as user_id, c.name as channel, p.error, p.due_at as at
      from unnest(${userIds}::text[]) u(id) cross join unnest(${channels}::text[]) c(name)
      cross join lateral (
        select state, error, due_at from oncall.page
         where org_id = ${org} and user_id = u.id and channel = c.name and state in ('sent', 'delivered', 'confirmed', 'failed')
         order by due_at desc limit 1) p
     where p.state = 'failed' and p.due_at > kernel.now() - make_interval(days => ${days})`;

const ReportRow = Type.Object({
  examined_at: Type.String(),
  services: Type.Integer(),
  unpaged: Type.Integer(),
  told_at: nullable(Type.String()),
  told_digest: nullable(Type.String()),
  not_told: nullable(Type.String()),
});
export type ReportRow = Static<typeof ReportRow>;

export const findReport = (tx: Tx, org: string) => row(tx, ReportRow)`
  select examined_at, services, unpaged, told_at, told_digest, not_told from oncall.doctor_report where org_id = ${org}`;

export interface ReportCounts {
  services: number;
  unpaged: number;
  digest: string;
}

/** Stores the findings, and whether the owners were told. `calm`: there was nothing to report. */
export const saveReport = (
  tx: Tx,
  org: string,
  f: ReportCounts,
  how: { is: 'told' } | { is: 'not-told'; why: string } | { is: 'calm' } | { is: 'early' },
) => run(tx)`
  insert into oncall.doctor_report as r (org_id, examined_at, services, unpaged, digest, told_at, told_digest, not_told)
  values (${org}, kernel.now(), ${f.services}, ${f.unpaged}, ${f.digest}, case when ${how.is === 'told'} then kernel.now() end,
          case when ${how.is === 'told' || how.is === 'calm'} then ${f.digest} end, ${how.is === 'not-told' ? how.why : null})
  on conflict (org_id) do update
     set examined_at = excluded.examined_at, services = excluded.services, unpaged = excluded.unpaged, digest = excluded.digest,
         told_at = coalesce(excluded.told_at, r.told_at), told_digest = coalesce(excluded.told_digest, r.told_digest), not_told = excluded.not_told`;

const OrgRow = Type.Object({ org_id: Type.String(), due: Type.Boolean() });
/**
 * Organizations that use on-call, in id order after `after`. `due`: a day has passed since the last examination, or an hour since a failed
 * mail. The query steps from one organization to the next by index.
 */
export const listOncallOrgs = (tx: Tx, after: string, limit: number) => rows(tx, OrgRow)`
  with recursive o(org_id) as (
    select ${after}::text
    union all
    select (select min(next) from (
              select min(org_id) as next from oncall.policy where org_id > o.org_id
              union all select min(org_id) from oncall.alert_source where org_id > o.org_id) n)
      from o where o.org_id is not null)
  select o.org_id, coalesce(r.examined_at < kernel.now() - case when r.not_told is null then interval '1 day' else interval '1 hour' end, true) as due
    from (select org_id from o where org_id > ${after} limit ${limit}) o left join oncall.doctor_report r on r.org_id = o.org_id`;
