import Type, { type Static } from 'typebox';
import { isUniqueViolation, row, rows, run, type Tx } from '../../kernel/db/index.ts';
import { sql } from '../../kernel/sql.ts';

const RoleRow = Type.Object({ id: Type.String(), name: Type.String(), description: Type.String(), permissions: Type.Array(Type.String()) });
/** A role of the organization's own making. */
export type CustomRole = Static<typeof RoleRow>;

const columns = sql`id, name, description, permissions`;

export const customRoles = (tx: Tx, org: string): Promise<CustomRole[]> => rows(tx, RoleRow)`
  select ${columns} from identity.custom_role where org_id = ${org} order by id desc`;

export const countRoles = (tx: Tx, org: string): Promise<number> => run(tx)`select 1 from identity.custom_role where org_id = ${org}`;

export const lockRole = (tx: Tx, org: string, id: string) => row(tx, RoleRow)`
  select ${columns} from identity.custom_role where org_id = ${org} and id = ${id} for update`;

/** A role cannot be deleted while a grant of it is being made. */
export const shareRole = (tx: Tx, org: string, id: string) =>
  run(tx)`select 1 from identity.custom_role where org_id = ${org} and id = ${id} for share`;

/** Undefined when the name is taken. */
export const insertRole = (tx: Tx, org: string, r: Omit<CustomRole, 'id'>) => row(tx, RoleRow)`
  insert into identity.custom_role (org_id, id, name, description, permissions, created_at)
  values (${org}, kernel.new_id('rol'), ${r.name}, ${r.description}, ${r.permissions}, kernel.now())
  on conflict do nothing returning ${columns}`;

/** Undefined when the name is taken. The unique index decides, not a query beforehand: two requests may want one name at once. */
export const updateRole = (tx: Tx, org: string, r: CustomRole) =>
  row(tx, RoleRow)`
    update identity.custom_role set name = ${r.name}, description = ${r.description}, permissions = ${r.permissions}
     where org_id = ${org} and id = ${r.id} returning ${columns}`.catch((error) =>
    isUniqueViolation(error) ? undefined : Promise.reject(error),
  );

export const deleteRole = (tx: Tx, org: string, id: string) =>
  run(tx)`delete from identity.custom_role where org_id = ${org} and id = ${id}`;
