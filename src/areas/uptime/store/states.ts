import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import type { Transition } from '../rules/down.ts';
import { MonitorRow, monitorColumns, SealedTargetRow } from './monitor-row.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const StateRow = Type.Object({
  monitor_id: Type.String(),
  state: Type.Union([Type.Literal('pending'), Type.Literal('up'), Type.Literal('down')]),
  since: Type.String(),
  began_at: Type.String(),
  failing_since: nullable(Type.String()),
  flapping: Type.Boolean(),
  alert_since: nullable(Type.String()),
  alert_service_id: nullable(Type.String()),
  told_since: nullable(Type.String()),
});
export type StateRow = Static<typeof StateRow>;

/**
 * Locked in order of id, so that two batches wait for each other instead of deadlocking. An edit of a monitor locks its state too: monitors
 * read after this do not change until the transaction ends.
 */
export const lockStates = (tx: Tx, ids: readonly string[]) => rows(tx, StateRow)`
  select monitor_id, state, since, began_at, failing_since, flapping, alert_since, alert_service_id, told_since
    from uptime.monitor_state where monitor_id = any(${ids}::text[]) order by monitor_id for update`;

export const monitorsOf = (tx: Tx, ids: readonly string[]) => rows(tx, MonitorRow)`
  select ${monitorColumns} from uptime.monitor m where m.id = any(${ids}::text[]) and m.deleted_at is null`;

export const sealedOf = (tx: Tx, ids: readonly string[]) => rows(tx, SealedTargetRow)`
  select id, target, sealed from uptime.monitor where id = any(${ids}::text[])`;

export const insertState = (tx: Tx, org: string, monitorId: string) => run(tx)`
  insert into uptime.monitor_state (org_id, monitor_id, state, since, began_at)
  select ${org}, ${monitorId}, 'pending', c.now, c.now from (select kernel.now() as now offset 0) c`;

export interface StateChange {
  id: string;
  state: string;
  since: string;
  beganAt: string;
  failingSince: string | null;
  flapping: boolean;
}

export const writeStates = (tx: Tx, changes: readonly StateChange[]) => run(tx)`
  update uptime.monitor_state s set state = c.state, since = c.since, began_at = c."beganAt", failing_since = c."failingSince", flapping = c.flapping
    from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
           as c(id text, state text, since timestamptz, "beganAt" timestamptz, "failingSince" timestamptz, flapping boolean)
   where s.monitor_id = c.id`;

/** Which alert on-call has of each of these monitors once all notifications are delivered; without `since`, none. */
export const writeAlerts = (tx: Tx, alerts: readonly { id: string; since?: string; serviceId?: string }[]) => run(tx)`
  update uptime.monitor_state s set alert_since = a.since, alert_service_id = a."serviceId", told_since = coalesce(a.since, s.told_since)
    from jsonb_to_recordset(${JSON.stringify(alerts)}::jsonb) as a(id text, since timestamptz, "serviceId" text)
   where s.monitor_id = a.id`;

export const insertTransitions = (tx: Tx, made: readonly (Transition & { org: string; monitorId: string })[]) => run(tx)`
  insert into uptime.transition (org_id, id, monitor_id, at, from_state, to_state, failing_vantages, since)
  select t.org, kernel.new_id('tra'), t."monitorId", to_timestamp(t.at / 1000.0), t."from", t."to",
         array(select jsonb_array_elements_text(t."failingVantages")), to_timestamp(t.since / 1000.0)
    from jsonb_to_recordset(${JSON.stringify(made.map((t, i) => ({ ...t, i })))}::jsonb)
           as t(org text, "monitorId" text, at numeric, "from" text, "to" text, "failingVantages" jsonb, since numeric, i int) order by t.i`;

const CountRow = Type.Object({ monitor_id: Type.String(), count: Type.Integer() });

/** How often they went up or down lately. */
export const recentTransitions = (tx: Tx, ids: readonly string[], windowSeconds: number) => rows(tx, CountRow)`
  select monitor_id, count(*)::int as count from uptime.transition
   where monitor_id = any(${ids}::text[]) and at > kernel.now() - make_interval(secs => ${windowSeconds}) and from_state in ('up', 'down') and to_state in ('up', 'down')
   group by monitor_id`;

/** Ids of all monitors of a service, also of those that are up: a batch that has not committed may be taking one down. */
export const monitorIdsOfService = async (tx: Tx, org: string, serviceId: string): Promise<string[]> =>
  (
    await rows(tx, Type.Object({ id: Type.String() }))`
      select id from uptime.monitor where org_id = ${org} and service_id = ${serviceId} and deleted_at is null`
  ).map((m) => m.id);
