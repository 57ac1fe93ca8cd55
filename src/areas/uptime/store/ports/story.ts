import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../../kernel/db/index.ts';

const MonitorRow = Type.Object({ id: Type.String(), name: Type.String(), service_id: Type.Union([Type.String(), Type.Null()]) });

/** Deleted ones too: their history stays. */
export const monitorsNamed = (tx: Tx, org: string, ids: readonly string[]) => rows(tx, MonitorRow)`
  select id, name, service_id from uptime.monitor where org_id = ${org} and id = any(${ids}::text[])`;

export interface Span {
  from: string;
  until: string;
  /** Of the first, and of the last. */
  limit: number;
}

const ProbeRow = Type.Object({
  monitor_id: Type.String(),
  at: Type.String(),
  vantage: Type.String(),
  label: Type.String(),
  error_detail: Type.String(),
  passed_at: Type.Union([Type.String(), Type.Null()]),
});
export type ProbeRow = Static<typeof ProbeRow>;

/**
 * The first failure of each streak of a vantage, the first ones and the last ones of the span, each with the check that passed again. That one
 * is looked for within six hours, and for as long as single checks are kept.
 */
export const failureStreaks = (tx: Tx, org: string, monitorIds: readonly string[], { from, until, limit }: Span) => rows(tx, ProbeRow)`
  with began as (
    select f.* from unnest(${monitorIds}::text[]) m(id), lateral (
      (select monitor_id, id, at, vantage, error_detail from uptime.failure
        where monitor_id = m.id and org_id = ${org} and attempt = 1 and at >= ${from} and at <= ${until} order by at, id limit ${limit})
      union
      (select monitor_id, id, at, vantage, error_detail from uptime.failure
        where monitor_id = m.id and org_id = ${org} and attempt = 1 and at >= ${from} and at <= ${until} order by at desc, id desc limit ${limit})) f)
  select b.monitor_id, b.at, b.vantage, v.label, b.error_detail, p.at as passed_at
    from began b join uptime.vantage v on v.id = b.vantage join uptime.monitor m on m.id = b.monitor_id
    left join lateral (
      select r.at from uptime.check_result r
       where r.monitor_no = m.no and r.vantage_no = v.no and r.outcome = 0 and r.at > b.at and r.at <= b.at + interval '6 hours' and r.at <= ${until}
       order by r.at limit 1) p on true
   order by b.at, b.id`;

const State = Type.Union([Type.Literal('pending'), Type.Literal('up'), Type.Literal('down')]);
const TransitionRow = Type.Object({ monitor_id: Type.String(), at: Type.String(), to_state: State, failing: Type.Array(Type.String()) });
export type TransitionRow = Static<typeof TransitionRow>;

/** Changes of the verdict over all vantages, the first ones and the last ones of the span. */
export const verdicts = (tx: Tx, org: string, monitorIds: readonly string[], { from, until, limit }: Span) => rows(tx, TransitionRow)`
  select t.monitor_id, t.at, t.to_state, array(select v.label from uptime.vantage v where v.id = any(t.failing_vantages) order by v.no) as failing
    from unnest(${monitorIds}::text[]) m(id), lateral (
      (select monitor_id, id, at, to_state, failing_vantages from uptime.transition
        where monitor_id = m.id and org_id = ${org} and at >= ${from} and at <= ${until} order by at, id limit ${limit})
      union
      (select monitor_id, id, at, to_state, failing_vantages from uptime.transition
        where monitor_id = m.id and org_id = ${org} and at >= ${from} and at <= ${until} order by at desc, id desc limit ${limit})) t
   order by t.at, t.id`;

const WindowRow = Type.Object({ id: Type.String(), title: Type.String(), starts_at: Type.String(), ends_at: Type.String() });

/** Windows of a service that were open at any moment between two times. */
export const windowsOpen = (tx: Tx, org: string, serviceId: string, { from, until, limit }: Span) => rows(tx, WindowRow)`
  select id, title, starts_at, ends_at from uptime.maintenance
   where org_id = ${org} and service_id = ${serviceId} and ends_at > ${from} and starts_at <= ${until} order by starts_at, id limit ${limit}`;
