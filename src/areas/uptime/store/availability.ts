import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';
import { historyDays } from '../rules/availability.ts';

const State = Type.Union([Type.Literal('pending'), Type.Literal('up'), Type.Literal('down')]);
const LiveRow = Type.Object({ service_id: Type.String(), state: State });

/** What each live monitor of these services says. */
export const statesOf = (tx: Tx, org: string, serviceIds: readonly string[]) => rows(tx, LiveRow)`
  select m.service_id, s.state from uptime.monitor m join uptime.monitor_state s on s.monitor_id = m.id
   where m.org_id = ${org} and m.service_id = any(${serviceIds}::text[]) and m.deleted_at is null`;

const ChangeRow = Type.Object({ service_id: Type.String(), monitor_id: Type.String(), since: Type.String(), to_state: State });
export type ChangeRow = Static<typeof ChangeRow>;

/**
 * How the monitors of these services changed, the deleted ones included: everything as far back as availability looks, and for
 * each monitor the last change before that, which says how it entered. In order for each monitor.
 */
export const changesOf = (tx: Tx, org: string, serviceIds: readonly string[]) => rows(tx, ChangeRow)`
  with mine as (
    select id, service_id from uptime.monitor where org_id = ${org} and service_id = any(${serviceIds}::text[])
  ), edge as materialized (
    select kernel.now() - make_interval(days => ${historyDays}) as at
  )
  select mine.service_id, mine.id as monitor_id, t.since, t.to_state
    from mine cross join lateral (
           (select at, id, since, to_state from uptime.transition
             where monitor_id = mine.id and at < (select at from edge) order by at desc, id desc limit 1)
           union all
           (select at, id, since, to_state from uptime.transition where monitor_id = mine.id and at >= (select at from edge))
         ) t
   order by mine.id, t.at, t.id`;

const WorkRow = Type.Object({ service_id: Type.String(), starts_at: Type.String(), ends_at: Type.String() });

export const workOn = (tx: Tx, org: string, serviceIds: readonly string[]) => rows(tx, WorkRow)`
  select service_id, starts_at, ends_at from uptime.maintenance
   where org_id = ${org} and service_id = any(${serviceIds}::text[]) and ends_at > kernel.now() - make_interval(days => ${historyDays})`;
