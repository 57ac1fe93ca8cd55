import Type, { type Static } from 'typebox';
import { isUniqueViolation, row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import type { Pagination } from '../../../kernel/pagination.ts';
import { isVisible, sql, type Visible } from '../../../kernel/sql.ts';

const ServiceRow = Type.Object({ id: Type.String(), name: Type.String(), created_at: Type.String() });
export type ServiceRow = Static<typeof ServiceRow>;

/** Newest first; without a slice, all services. */
export const listServices = (tx: Tx, org: string, visible: Visible, slice?: Pagination) => rows(tx, ServiceRow)`
  select id, name, created_at from services.service
   where org_id = ${org} and ${isVisible(visible, sql`id`)} ${slice?.after ? sql`and id < ${slice.after}` : sql``}
   order by id desc limit ${slice ? slice.limit + 1 : null}`;

/** The names of the existing services among these, by id. */
export const namedServices = async (tx: Tx, org: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  new Map((await listServices(tx, org, new Set(ids))).map((s) => [s.id, s.name]));

export const lockService = (tx: Tx, org: string, id: string) => row(tx, ServiceRow)`
  select id, name, created_at from services.service where org_id = ${org} and id = ${id} for update`;

export const serviceById = (tx: Tx, org: string, id: string) => row(tx, ServiceRow)`
  select id, name, created_at from services.service where org_id = ${org} and id = ${id}`;

/** Locks the service for share: it cannot be deleted while the caller refers to it. */
export const shareService = (tx: Tx, org: string, id: string) => row(tx, ServiceRow)`
  select id, name, created_at from services.service where org_id = ${org} and id = ${id} for key share`;

export function insertService(tx: Tx, org: string, name: string): Promise<ServiceRow | undefined> {
  hintServices(tx, org);
  return row(tx, ServiceRow)`
  insert into services.service (org_id, id, name, created_at) values (${org}, kernel.new_id('svc'), ${name}, kernel.now())
  on conflict do nothing returning id, name, created_at`;
}

/** Both areas show them. */
const hintServices = (tx: Tx, org: string) => hint(tx, org, 'oncall.service', 'uptime.service');

/** Undefined if the name is taken. The unique index decides, because two callers may want one name at once. */
export function updateServiceName(tx: Tx, org: string, id: string, name: string): Promise<ServiceRow | undefined> {
  hintServices(tx, org);
  return row(
    tx,
    ServiceRow,
  )`update services.service set name = ${name} where org_id = ${org} and id = ${id} returning id, name, created_at`.catch((error) =>
    isUniqueViolation(error) ? undefined : Promise.reject(error),
  );
}

export function removeService(tx: Tx, org: string, id: string): Promise<number> {
  hintServices(tx, org);
  return run(tx)`delete from services.service where org_id = ${org} and id = ${id}`;
}

export const hasService = async (tx: Tx, org: string): Promise<boolean> =>
  (await run(tx)`select 1 from services.service where org_id = ${org} limit 1`) > 0;
