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

/** Transitions read at most for one availability query: a monitor that flaps for months may have millions. */
export const maxChanges = 20_000;
const minChangesPerService = 200;

/** The limit for each service when several are queried at once. */
export const maxChangesPerService = (services: number): number =>
  Math.max(minChangesPerService, Math.floor(maxChanges / Math.max(1, services)));

const EdgeRow = Type.Object({ service_id: Type.String(), at: Type.String() });

/** For services with more transitions than the limit: the time from which on they are read. Earlier transitions are not counted. */
export const countedFrom = async (
  tx: Tx,
  org: string,
  serviceIds: readonly string[],
  maxPerService: number,
): Promise<ReadonlyMap<string, string>> =>
  new Map(
    (
      await rows(tx, EdgeRow)`
        select s.id as service_id, edge.at
          from unnest(${serviceIds}::text[]) as s(id)
         cross join lateral (
                 select t.at from uptime.monitor m cross join lateral (
                          select at from uptime.transition
                           where monitor_id = m.id and at >= kernel.now() - make_interval(days => ${historyDays})
                           order by at desc, id desc limit ${maxPerService + 1}) t
                  where m.org_id = ${org} and m.service_id = s.id
                  order by t.at desc offset ${maxPerService} limit 1) edge`
    ).map((e) => [e.service_id, e.at]),
  );

/**
 * Transitions of the monitors of these services, deleted monitors included: as far back as availability looks, or from the service's own
 * edge on. For each monitor also the last transition before that, which gives its state at the edge. In order for each monitor.
 */
export const changesOf = (tx: Tx, org: string, serviceIds: readonly string[], from: ReadonlyMap<string, string>) => rows(tx, ChangeRow)`
  with edge as materialized (
    select s.id as service_id, coalesce(s.at, kernel.now() - make_interval(days => ${historyDays})) as at
      from unnest(${serviceIds}::text[], ${serviceIds.map((id) => from.get(id) ?? null)}::timestamptz[]) as s(id, at)
  ), mine as (
    select m.id, m.service_id, edge.at as edge from uptime.monitor m join edge on edge.service_id = m.service_id where m.org_id = ${org}
  )
  select mine.service_id, mine.id as monitor_id, t.since, t.to_state
    from mine cross join lateral (
           (select at, id, since, to_state from uptime.transition
             where monitor_id = mine.id and at <= mine.edge order by at desc, id desc limit 1)
           union all
           (select at, id, since, to_state from uptime.transition where monitor_id = mine.id and at > mine.edge)
         ) t
   order by mine.id, t.at, t.id`;

const WorkRow = Type.Object({ service_id: Type.String(), starts_at: Type.String(), ends_at: Type.String() });

/** Windows that touch are taken together; of a service with very many, the newest. */
export const maintenanceWindows = (tx: Tx, org: string, serviceIds: readonly string[]) => rows(tx, WorkRow)`
  select m.service_id, lower(w.span) as starts_at, upper(w.span) as ends_at
    from (select service_id, range_agg(tstzrange(starts_at, ends_at)) as spans from uptime.maintenance
           where org_id = ${org} and service_id = any(${serviceIds}::text[]) and ends_at > kernel.now() - make_interval(days => ${historyDays})
           group by service_id) m, unnest(m.spans) as w(span)
   order by lower(w.span) desc limit ${maxChanges}`;
