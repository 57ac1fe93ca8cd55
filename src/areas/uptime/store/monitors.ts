import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import type { Pagination } from '../../../kernel/pagination.ts';
import { isVisible, sql, type Visible } from '../../../kernel/sql.ts';
import { MonitorRow, monitorColumns, Sealed, storedTarget } from './monitor-row.ts';

const LockedRow = Type.Object({ ...MonitorRow.properties, sealed: Sealed });
export type LockedRow = Static<typeof LockedRow>;

/** A monitor with its current state. */
const WatchedRow = Type.Object({
  ...LockedRow.properties,
  state: Type.Union([Type.Literal('pending'), Type.Literal('up'), Type.Literal('down')]),
  since: Type.String(),
  /** Checks that could not be made lately, by vantage. */
  skipped: Type.Array(Type.Object({ vantage: Type.String(), at: Type.String(), because: Type.String() })),
});
export type WatchedRow = Static<typeof WatchedRow>;

/** For how long a skipped check is shown; or for three intervals, when that is longer. */
const skippedSeconds = 600;

const watched = sql`${monitorColumns}, m.sealed, s.state, s.since,
         coalesce((select jsonb_agg(jsonb_build_object('vantage', v.vantage, 'because', v.skipped_because,
                            'at', to_char(v.skipped_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by v.vantage)
                     from uptime.vantage_state v
                    where v.monitor_id = m.id and v.vantage = any(m.vantages)
                      and v.skipped_at > kernel.now() - make_interval(secs => greatest(${skippedSeconds}, 3 * m.interval_seconds))), '[]') as skipped
  from uptime.monitor m join uptime.monitor_state s on s.monitor_id = m.id`;

/** By its own id or by its service's: a caller who reaches a service reaches its monitors. */
export const reached = (visible: Visible) => sql`(${isVisible(visible, sql`m.id`)} or ${isVisible(visible, sql`m.service_id`)})`;

export const monitorsOf = (tx: Tx, org: string, visible: Visible, { limit, after }: Pagination) => rows(tx, WatchedRow)`
  select ${watched} where m.org_id = ${org} and m.deleted_at is null and ${reached(visible)} and (${after}::text is null or m.id < ${after})
   order by m.id desc limit ${limit + 1}`;

export const monitorById = (tx: Tx, org: string, id: string) => row(tx, WatchedRow)`
  select ${watched} where m.org_id = ${org} and m.id = ${id} and m.deleted_at is null`;

/** Locks the row for an edit, so that concurrent edits run one after the other. */
export const lockMonitor = (tx: Tx, org: string, id: string) => row(tx, LockedRow)`
  select ${monitorColumns}, m.sealed from uptime.monitor m where m.org_id = ${org} and m.id = ${id} and m.deleted_at is null for update`;

/** Counted under a lock until the transaction ends: two requests at once cannot both take the last one. */
export const countMonitors = async (tx: Tx, org: string): Promise<number> => {
  await run(tx)`select pg_advisory_xact_lock(hashtext('uptime.quota'), hashtext(${org}))`;
  const found = await row(tx, Type.Object({ n: Type.Integer() }))`
    select count(*)::int as n from uptime.monitor where org_id = ${org} and deleted_at is null`;
  return found!.n;
};

/** Generated before the insert: the target is sealed for this id. */
export const newMonitorId = async (tx: Tx): Promise<string> =>
  (await row(tx, Type.Object({ id: Type.String() }))`select kernel.new_id('mon') as id`)!.id;

export type NewMonitor = Omit<MonitorRow, 'org_id' | 'no' | 'epoch' | 'created_at' | 'updated_at'> & { sealed: Buffer };

export const insertMonitor = async (tx: Tx, org: string, made: NewMonitor): Promise<MonitorRow> =>
  (await row(tx, MonitorRow)`
    insert into uptime.monitor as m (org_id, id, name, service_id, enabled, kind, target, sealed, interval_seconds, timeout_ms,
                                     vantages, confirmations, quorum, revision, created_at, updated_at)
    select ${org}, ${made.id}, ${made.name}, ${made.service_id}, ${made.enabled}, ${made.kind}, ${storedTarget(made.target)}::jsonb,
           ${made.sealed}::bytea, ${made.interval_seconds}, ${made.timeout_ms}, ${made.vantages}::text[], ${made.confirmations}, ${made.quorum}, ${made.revision},
           c.now, c.now from (select kernel.now() as now offset 0) c
    returning ${monitorColumns}`)!;

/** Without a seal its target stays as it is, also one that cannot be opened. */
export const updateMonitor = async (tx: Tx, org: string, to: MonitorRow & { sealed?: Buffer }): Promise<MonitorRow> =>
  (await row(tx, MonitorRow)`
    update uptime.monitor m
       set name = ${to.name}, service_id = ${to.service_id}, enabled = ${to.enabled},
           target = coalesce(${to.sealed ? storedTarget(to.target) : null}::jsonb, m.target), sealed = coalesce(${to.sealed ?? null}::bytea, m.sealed),
           interval_seconds = ${to.interval_seconds}, timeout_ms = ${to.timeout_ms}, vantages = ${to.vantages},
           confirmations = ${to.confirmations}, quorum = ${to.quorum}, revision = ${to.revision}, epoch = ${to.epoch},
           updated_at = kernel.now()
     where m.org_id = ${org} and m.id = ${to.id} returning ${monitorColumns}`)!;

/** Its rows stay: results, failures and transitions are history, and availability goes on counting them. Only its secrets go. */
export const deleteMonitor = (tx: Tx, org: string, gone: Pick<LockedRow, 'id' | 'target' | 'revision'> & { sealed: Buffer }) => run(tx)`
  update uptime.monitor set deleted_at = kernel.now(), revision = ${gone.revision}, target = ${storedTarget(gone.target)}, sealed = ${gone.sealed}
   where org_id = ${org} and id = ${gone.id}`;

const CountRow = Type.Object({ service_id: Type.String(), n: Type.Integer() });

export const monitorCounts = async (tx: Tx, org: string, serviceIds: readonly string[]): Promise<ReadonlyMap<string, number>> =>
  new Map(
    (
      await rows(tx, CountRow)`
        select service_id, count(*)::int as n from uptime.monitor
         where org_id = ${org} and service_id = any(${serviceIds}::text[]) and deleted_at is null group by service_id`
    ).map((r) => [r.service_id, r.n]),
  );

const NamedRow = Type.Object({ id: Type.String(), name: Type.String() });

/** For scopes and grants. */
export const namedMonitors = (tx: Tx, org: string, visible: Visible) => rows(tx, NamedRow)`
  select m.id, m.name from uptime.monitor m where m.org_id = ${org} and m.deleted_at is null and ${reached(visible)} order by m.id desc`;

export const monitorsOfService = (tx: Tx, org: string, serviceId: string) => rows(tx, NamedRow)`
  select id, name from uptime.monitor where org_id = ${org} and service_id = ${serviceId} and deleted_at is null order by id limit 5`;
