import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import type { Pagination } from '../../../kernel/pagination.ts';
import { isVisible, sql, type Visible } from '../../../kernel/sql.ts';

const MaintenanceRow = Type.Object({
  id: Type.String(),
  service_id: Type.String(),
  title: Type.String(),
  starts_at: Type.String(),
  ends_at: Type.String(),
  created_at: Type.String(),
});
export type MaintenanceRow = Static<typeof MaintenanceRow>;

const columns = sql`id, service_id, title, starts_at, ends_at, created_at`;
/** Availability looks no further back. */
const keptDays = 400;

export const maintenanceOf = (tx: Tx, org: string, visible: Visible, { limit, after }: Pagination) => rows(tx, MaintenanceRow)`
  select ${columns} from uptime.maintenance
   where org_id = ${org} and ends_at > kernel.now() - make_interval(days => ${keptDays}) and ${isVisible(visible, sql`service_id`)}
     and (${after}::text is null or id < ${after})
   order by id desc limit ${limit + 1}`;

export interface NewMaintenance {
  serviceId: string;
  title: string;
  startsAt: string;
  endsAt: string;
}

export const insertMaintenance = async (tx: Tx, org: string, made: NewMaintenance): Promise<MaintenanceRow> =>
  (await row(tx, MaintenanceRow)`
    insert into uptime.maintenance (org_id, id, service_id, title, starts_at, ends_at, created_at)
    values (${org}, kernel.new_id('mnt'), ${made.serviceId}, ${made.title}, ${made.startsAt}, ${made.endsAt}, kernel.now())
    returning ${columns}`)!;

export const lockMaintenance = (tx: Tx, org: string, id: string) => row(tx, MaintenanceRow)`
  select ${columns} from uptime.maintenance where org_id = ${org} and id = ${id} for update`;

export const deleteMaintenance = (tx: Tx, org: string, id: string) =>
  run(tx)`delete from uptime.maintenance where org_id = ${org} and id = ${id}`;

/** Deleted with its service. */
export const forgetMaintenance = (tx: Tx, org: string, serviceId: string) =>
  run(tx)`delete from uptime.maintenance where org_id = ${org} and service_id = ${serviceId}`;

/** A maintenance window, as status pages show it. */
export interface Maintenance {
  id: string;
  serviceId: string;
  title: string;
  startsAt: string;
  endsAt: string;
}

/** Windows that a status page shows at most: ahead or under way, and over. */
const maxShown = { ahead: 50, over: 20 };

/** Windows under way, ahead, or over for less than `pastDays` days; soonest first. For status pages. */
export const plannedMaintenance = async (tx: Tx, org: string, serviceIds: readonly string[], pastDays: number): Promise<Maintenance[]> =>
  (
    await rows(tx, MaintenanceRow)`
      (select ${columns} from uptime.maintenance
        where org_id = ${org} and service_id = any(${serviceIds}::text[]) and ends_at <= kernel.now() and ends_at > kernel.now() - make_interval(days => ${pastDays})
        order by ends_at desc, id desc limit ${maxShown.over})
      union all
      (select ${columns} from uptime.maintenance
        where org_id = ${org} and service_id = any(${serviceIds}::text[]) and ends_at > kernel.now() order by starts_at, id limit ${maxShown.ahead})
      order by starts_at, id`
  ).map((m) => ({ id: m.id, serviceId: m.service_id, title: m.title, startsAt: m.starts_at, endsAt: m.ends_at }));

const CountRow = Type.Object({ n: Type.Integer() });

/** Windows of a service that are not over yet. */
export const countPlanned = async (tx: Tx, org: string, serviceId: string): Promise<number> =>
  (await row(tx, CountRow)`
    select count(*)::int as n from uptime.maintenance where org_id = ${org} and service_id = ${serviceId} and ends_at > kernel.now()`)!.n;
